/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TRACE_READ_TRACE_THROTTLE_H
#define GASPIPE_TRACE_READ_TRACE_THROTTLE_H

#include <stdbool.h>
#include <sys/types.h>
#include <time.h>

#include "trace/read/trace_budget.h"
#include "trace/read/trace_ring.h"

/* A budget put into force on the process of a ring. All zeros: there is none. */
struct trace_throttle {
    struct trace_budget budget;
    struct trace_ring *ring; /* NULL: no budget */
    bool *restored;          /* owned; by number: its text is as it was */
    size_t to_restore;       /* functions left out whose jumps are still there */
    pid_t process_id;
    clockid_t clock;         /* of the process's own time */
    int64_t process, reader; /* nanoseconds, at the last decision */
};

/*
 * `percent` 0: no budget. When the sink is told that the process has begun; -1 with ERROR_SYSTEM.
 * trace_throttle_close() in any case.
 */
int trace_throttle_open(struct trace_throttle *throttle, struct trace_ring *ring, uint64_t percent,
                        struct error *error);
void trace_throttle_close(struct trace_throttle *throttle);

/* Counts events that the sink gets, and leaves functions out when they are too many. */
void trace_throttle_add(struct trace_throttle *throttle, const uint64_t *events, size_t count);

/*
 * Puts the text of functions that are left out back, so that nothing remains of their jumps. To be
 * called when the process waits for something that the caller alone would send, as a worker does
 * between deliveries; else nothing happens.
 */
void trace_throttle_between(struct trace_throttle *throttle);

/* Appends what was left out, in words; nothing when it is nothing. */
void trace_throttle_put(struct trace_throttle *throttle, struct buf *out);

#endif
