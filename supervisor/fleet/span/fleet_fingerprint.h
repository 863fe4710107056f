/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_FLEET_SPAN_FLEET_FINGERPRINT_H
#define GASPIPE_SUPERVISOR_FLEET_SPAN_FLEET_FINGERPRINT_H

#include "supervisor/fleet/transport/transport.h"
#include "supervisor/process/launcher.h"

/*
 * What a replay's outcome depends on beside the span: the worker's program, or what counts its
 * instructions and all that it executes, and the runtimes that come with gaspipe. `worker` is the
 * path of another worker; NULL: ours. -1 with ERROR_INPUT or ERROR_SYSTEM.
 */
int fleet_fingerprint(const char *worker, struct counters counters, char hash[FLEET_HASH_SIZE],
                      struct error *error);

/* Likewise of estimates: the workers of contracts in JavaScript and in WebAssembly; `worker` is
 * not used. */
int fleet_fingerprint_estimate(const char *worker, struct counters counters,
                               char hash[FLEET_HASH_SIZE], struct error *error);

/* Of reports: the program slogreport. Nothing else is used. */
int fleet_fingerprint_slogreport(const char *worker, struct counters counters,
                                 char hash[FLEET_HASH_SIZE], struct error *error);

#endif
