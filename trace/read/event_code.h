/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TRACE_READ_EVENT_CODE_H
#define GASPIPE_TRACE_READ_EVENT_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* Events in few bytes (docs/trace-format.md): differences of time, and no number where the function
 * that is left is the one entered last. */

/* What both sides follow within a block: which function was entered last, and when. All zeros is a
 * block's beginning. */
enum { EVENT_CODE_DEPTH = 1024 };

struct event_code {
    uint32_t functions[EVENT_CODE_DEPTH];
    size_t depth; /* may be larger than the array: what is above is not kept */
    uint64_t time;
};

/* A number in groups of seven bits, the lowest first (LEB128). */
void event_code_put(struct buf *out, uint64_t number);

/* Moves *at behind it. False: there is none before `end`. */
bool event_code_take(const uint8_t **at, const uint8_t *end, uint64_t *number);

/* Appends events as trace/memory.h has them to those that the block has. Many pass through here:
 * some nanoseconds for each decide how much a program is slowed. */
void event_code_write(struct event_code *code, struct buf *out, const uint64_t *events,
                      size_t count);

/* Appends to *events, an array of malloc() that grows. 0; -1 for what is no code; -2 without
 * memory. */
int event_code_read(const uint8_t *at, const uint8_t *end, uint64_t **events, size_t *count);

#endif
