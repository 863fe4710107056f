/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_SCHEDULE_LOG_DELIVERY_TIMES_H
#define GASPIPE_SUPERVISOR_SCHEDULE_LOG_DELIVERY_TIMES_H

#include <stddef.h>

#include "base/error.h"
#include "base/stamp.h"
#include "slog/model/spans.h"
#include "supervisor/schedule/log/delivery_report.h"

/* When a request arrived, and when it was answered. */
struct request_times {
    struct stamp come, answered;
};

/*
 * The moments of one delivery as the supervisor saw them, and scratch memory that is
 * kept from one delivery to the next. All zeros is empty.
 */
struct delivery_times {
    struct stamp sent;
    struct request_times *requests; /* the first ones, owned */
    size_t request_count, request_capacity;
    size_t more;         /* requests behind these */
    int64_t more_kernel; /* nanoseconds that they took */

    struct model_event *events;
    int64_t *stamps;
    size_t event_capacity, stamp_capacity;
    struct spans spans;
};

/* As many as a worker has stamps for (worker/pipe/stamps.h). */
enum { DELIVERY_TIMES_MAX = 32767 };

/* Forgets the moments and keeps the memory. */
void delivery_times_clear(struct delivery_times *times);
void delivery_times_free(struct delivery_times *times);

/* Adds a request. -1 when memory ran out. */
int delivery_times_add(struct delivery_times *times, struct stamp come, struct stamp answered,
                       struct error *error);

/*
 * Fills the report's total, pipe, worker and kernel. A worker that stamps with
 * CLOCK_MONOTONIC, as ours does, is measured with it, in nanoseconds; another, such as
 * xsnap-worker, with its timestamps and CLOCK_REALTIME here, in microseconds. pipe and
 * worker are REPORT_NONE if stamps are missing, as those of requests after DELIVERY_TIMES_MAX, or
 * if the worker's clock is not this host's or was set meanwhile; without any stamps kernel is
 * REPORT_NONE too. -1 when memory ran out.
 */
int delivery_times_fill(struct delivery_times *times, const struct delivery_end *end,
                        struct delivery_report *report, struct error *error);

#endif
