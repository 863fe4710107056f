/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TRACE_READ_EVENT_CODE_H
#define GASPIPE_TRACE_READ_EVENT_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* Events in few bytes (docs/trace-format.md): differences of time, and no number where the function
 * that is left is the one entered last. */

/* A number in groups of seven bits, the lowest first (LEB128). */
void event_code_put(struct buf *out, uint64_t number);

/* Moves *at behind it. False: there is none before `end`. */
bool event_code_take(const uint8_t **at, const uint8_t *end, uint64_t *number);

/* Events as trace/memory.h has them. */
void event_code_write(struct buf *out, const uint64_t *events, size_t count);

/* Appends to *events, an array of malloc() that grows. 0; -1 for what is no code; -2 without
 * memory. */
int event_code_read(const uint8_t *at, const uint8_t *end, uint64_t **events, size_t *count);

#endif
