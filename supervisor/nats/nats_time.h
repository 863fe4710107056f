/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_NATS_NATS_TIME_H
#define GASPIPE_SUPERVISOR_NATS_NATS_TIME_H

#include <stdbool.h>
#include <stdint.h>

/* A time as NATS writes it in JSON, "2026-11-22T23:11:12.5Z" with up to nine decimals, in
 * nanoseconds since the epoch. False: it is none. */
bool nats_time_read(const char *text, int64_t *nanoseconds);

#endif
