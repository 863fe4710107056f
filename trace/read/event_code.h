/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TRACE_READ_EVENT_CODE_H
#define GASPIPE_TRACE_READ_EVENT_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/*
 * Events in few bytes (docs/trace-format.md). Programs mostly repeat themselves: an event that
 * follows the ones before it as another did earlier in the block needs no function's number.
 */

enum {
    EVENT_CODE_CONTEXTS = 1 << 14,
};

/* What both sides follow within a block. All zeros is a block's beginning. */
struct event_code {
    uint64_t time;                          /* of the last call */
    uint32_t context;                       /* the events before, as a number */
    uint16_t expected[EVENT_CODE_CONTEXTS]; /* the call that came last after these */
};

/* A number in groups of seven bits, the lowest first (LEB128). */
void event_code_put(struct buf *out, uint64_t number);

/* Moves *at behind it. False: there is none before `end`. */
bool event_code_take(const uint8_t **at, const uint8_t *end, uint64_t *number);

/* Appends events as trace/memory.h has them to what the block has.
 * Many pass through here: some nanoseconds for each decide how much a program is slowed. */
void event_code_write(struct event_code *code, struct buf *out, const uint64_t *events,
                      size_t count);

/* Appends to *events, an array of malloc() that grows. 0; -1 for what is no code; -2 without
 * memory.
 */
int event_code_read(const uint8_t *at, const uint8_t *end, uint64_t **events, size_t *count);

#endif
