/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TRACE_READ_TRACE_THROTTLE_H
#define GASPIPE_TRACE_READ_TRACE_THROTTLE_H

#include <time.h>

#include "trace/read/trace_budget.h"
#include "trace/read/trace_ring.h"

/* A budget put into force on the process of a ring. All zeros: there is none. */
struct trace_throttle {
    struct trace_budget budget;
    struct trace_ring *ring; /* NULL: no budget */
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

/* Appends what was left out, in words; nothing when it is nothing. */
void trace_throttle_put(struct trace_throttle *throttle, struct buf *out);

#endif
