/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TRACE_READ_TRACE_THROTTLE_H
#define GASPIPE_TRACE_READ_TRACE_THROTTLE_H

#include <stdbool.h>
#include <sys/types.h>
#include <time.h>

#include "trace/read/trace_absence.h"
#include "trace/read/trace_budget.h"
#include "trace/ring/trace_ring.h"

/* Functions, by their numbers, are left out from then on: nanoseconds of CLOCK_MONOTONIC. 0, or -1
 * with the error filled. */
typedef int trace_throttle_note(void *context, const uint32_t *functions, size_t count, int64_t at,
                                struct error *error);

/* A budget put into force on the process of a ring. All zeros: there is none. */
struct trace_throttle {
    struct trace_budget budget;
    struct trace_absences absences;
    struct trace_ring *ring; /* NULL: no budget */
    trace_throttle_note *note;
    void *context;
    bool *restored;    /* owned; by number: its text is as it was */
    size_t to_restore; /* functions left out whose jumps are still there */
    pid_t process_id;
    clockid_t clock; /* of the process's own time */
    int64_t process; /* nanoseconds, at the last decision */
    int64_t hurry;   /* until then: nanoseconds of CLOCK_MONOTONIC */
    bool is_close;   /* the process is not let far ahead */
    struct trace_reading {
        bool behind;     /* others were published behind the events that came last */
        int64_t last;    /* when those came: nanoseconds of the reader's own time */
        int64_t time;    /* of that, what was spent on events since the last decision */
        uint64_t events; /* those */
    } reading;
};

/*
 * `percent` 0: no budget. When the sink is told that the process has begun; `note` is told what is
 * left out, NULL: nobody is. -1 with ERROR_SYSTEM. trace_throttle_close() in any case.
 */
int trace_throttle_open(struct trace_throttle *throttle, struct trace_ring *ring, uint64_t percent,
                        trace_throttle_note *note, void *context, struct error *error);
void trace_throttle_close(struct trace_throttle *throttle);

/* Counts events that the sink gets, and leaves functions out when they are too many. 0, or -1 with
 * the error filled. */
int trace_throttle_add(struct trace_throttle *throttle, const uint64_t *events, size_t count,
                       struct error *error);

/* Puts the text of functions that are left out back, so that nothing remains of their jumps. To be
 * called when the process waits for something that the caller alone would send, as a worker does
 * between deliveries; else nothing happens. */
void trace_throttle_between(struct trace_throttle *throttle);

/* Nanoseconds before the ring should be read again, `usual` at most: less while it is not known
 * what is too much, and the process is not let far ahead for that. */
int64_t trace_throttle_moment(const struct trace_throttle *throttle, int64_t usual);

/* Appends what was left out, and when, in words; nothing when it is nothing. `zero` is when time
 * begins. -1 with ERROR_SYSTEM without memory. */
int trace_throttle_put(struct trace_throttle *throttle, int64_t zero, struct buf *out,
                       struct error *error);

#endif
