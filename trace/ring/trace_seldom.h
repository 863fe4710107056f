/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TRACE_RING_TRACE_SELDOM_H
#define GASPIPE_TRACE_RING_TRACE_SELDOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/*
 * Which functions have the time of only some of their calls read, since they are called so often
 * that reading it takes longer than they do. A function whose calls become rare has all of them
 * timed again. What the other times are is trace/events/trace_times.h's.
 *
 * It does no I/O, and knows no ring.
 */

struct seldom_function {
    uint64_t calls; /* since the first time that it was `seldom`; 0: it never was */
    uint32_t dense; /* calls, in chunks with many of them */
    bool seldom;    /* now */
    bool settled;   /* `dense` decides nothing: it is seldom, or its times are never read */
};

/* All zeros: closed. */
struct trace_seldom {
    struct seldom_function *functions; /* owned; by number */
    size_t count;                      /* of numbers */
    size_t seldom_count;
};

/* For so many functions. -1 with ERROR_SYSTEM. trace_seldom_close() in any case. */
int trace_seldom_open(struct trace_seldom *seldom, size_t functions, struct error *error);
void trace_seldom_close(struct trace_seldom *seldom);

/* The times of this function are never read. */
void trace_seldom_leave(struct trace_seldom *seldom, unsigned number);

/*
 * Decides from a chunk, as trace/memory.h has it, whose times are to be read seldom, and whose
 * always again: `changed` is told of each.
 */
typedef void trace_seldom_change(void *context, unsigned number, bool seldom);
void trace_seldom_decide(struct trace_seldom *seldom, const uint64_t *events, size_t count,
                         trace_seldom_change *changed, void *context);

/* Calls of a function since its times were read seldom first, of which most are estimated; 0: all
 * of its times were read. */
uint64_t trace_seldom_calls(const struct trace_seldom *seldom, unsigned number);

#endif
