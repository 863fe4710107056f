/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TRACE_EVENTS_TRACE_TIMES_H
#define GASPIPE_TRACE_EVENTS_TRACE_TIMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"

/*
 * The times of events that were not read (trace/ring/trace_seldom.h says whose).
 *
 * The last events of each chunk all have times. From these it learns how long it takes from one
 * event to the next, for each two that follow each other. Where events without a time lie between
 * two that have one, what has passed between those is divided as that says: so the sum of all times
 * stays what was measured, all calls are there, and what is estimated is how some microseconds are
 * divided.
 *
 * It does no I/O, and knows neither ring nor file.
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

/* Of one process. All zeros: closed. */
struct trace_times {
    struct trace_gap *gaps;        /* owned */
    struct trace_lane_time *lanes; /* owned */
    uint64_t *estimated;           /* owned; by function's number: calls whose entry had no time */
};

/* For so many lanes. -1 with ERROR_SYSTEM. trace_times_close() in any case. */
int trace_times_open(struct trace_times *times, unsigned lanes, struct error *error);
void trace_times_close(struct trace_times *times);

/*
 * Gives all events of a thread their times, so that none has TRACE_TIME_WHOLE or 0. To be called
 * with whole chunks, in their order. A call with TRACE_TIME_WHOLE takes no time, but is at the time
 * of what was before.
 */
void trace_times_fill(struct trace_times *times, unsigned lane, uint64_t *events, size_t count);

/* The thread has ended. */
void trace_times_end_lane(struct trace_times *times, unsigned lane);

/* ---- words ---- */

/* Of functions by number, from 1 to `count`. */
struct trace_times_words {
    uint64_t (*calls)(void *context, uint32_t number); /* 0: all times were read */
    const char *(*name)(void *context, uint32_t number);
    void *context;
    size_t count;
};

/* Appends for which functions times were estimated, the most called first, on one line; nothing
 * when there are none. */
void trace_times_put(const struct trace_times_words *words, struct buf *out);

#endif
