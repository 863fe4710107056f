/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TRACE_READ_TRACE_TIMES_H
#define GASPIPE_TRACE_READ_TRACE_TIMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "trace/patch/patch_plan.h"

/*
 * Which functions have the time of only some of their calls read, since they are called so often
 * that reading it takes longer than they do; and the times of their other events.
 *
 * The last events of each chunk all have times. From these it learns how long it takes from one
 * event to the next, for each two that follow each other. Where events without a time lie between
 * two that have one, what has passed between those is divided as that says: so the sum of all times
 * stays what was measured, all calls are there, and what is estimated is how some microseconds are
 * divided. A function whose calls become rare has all of them timed again.
 *
 * It does no I/O, and knows no ring.
 */

struct trace_gap {
    uint32_t events; /* of the one before, and of the one behind, without times */
    uint32_t mean;   /* ticks, in sixteenths; 0: not known */
};

/* What a thread did last. */
struct trace_lane_time {
    uint64_t time;  /* 48 bits; 0: not known */
    uint32_t event; /* without its time */
};

struct trace_times {
    struct trace_gap *gaps;        /* owned */
    struct trace_lane_time *lanes; /* owned */
    uint32_t *calls;               /* owned; by number, in chunks with many of them */
    bool *seldom, *ever;           /* owned; by number: now, and at any time */
    bool *left;                    /* owned; by number: trace_times_leave() */
    uint64_t *all;                 /* owned; by number: calls since that began */
    size_t count;                  /* of numbers */
    size_t seldom_count;
};

/* For the functions of a plan, and so many lanes. -1 with ERROR_SYSTEM. trace_times_close() in any
 * case. */
int trace_times_open(struct trace_times *times, size_t functions, unsigned lanes,
                     struct error *error);
void trace_times_close(struct trace_times *times);

/* The times of this function are never read. */
void trace_times_leave(struct trace_times *times, unsigned number);

/*
 * Gives all events of a chunk their times, so that none has TRACE_TIME_WHOLE or 0. Calls that one
 * event stands for have to be two already: `light` says whether these take no time, but are at the
 * time of what was before; both have TRACE_TIME_WHOLE then, and 0 else.
 */
void trace_times_fill(struct trace_times *times, unsigned lane, uint64_t *events, size_t count);

/* The thread has ended. */
void trace_times_end_lane(struct trace_times *times, unsigned lane);

/*
 * Decides from a chunk that has been filled whose times are to be read seldom, and whose always
 * again: `changed` is told of each.
 */
typedef void trace_times_change(void *context, unsigned number, bool seldom);
void trace_times_decide(struct trace_times *times, const uint64_t *events, size_t count,
                        trace_times_change *changed, void *context);

/* Appends for which functions times were estimated, the most called first, on one line; nothing
 * when there are none. */
void trace_times_put(const struct trace_times *times, const struct patch_plan *plan,
                     struct buf *out);

#endif
