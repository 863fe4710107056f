/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TRACE_REPORT_PERFETTO_LANE_H
#define GASPIPE_TRACE_REPORT_PERFETTO_LANE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "trace/memory.h"
#include "trace/read/trace_clock.h"

/* A thread's events as slices of its track. All zeros but for `sequence` has had none. */
struct perfetto_lane {
    uint32_t sequence;
    uint32_t *functions; /* owned; that are open, the outermost first */
    size_t depth, capacity;
    uint64_t ticks;  /* of the last event, all 64 bits */
    int64_t time;    /* of the last packet, nanoseconds of CLOCK_MONOTONIC */
    uint64_t deep;   /* calls below those that are not known */
    uint64_t ending; /* calls that ended before the next event */
    bool orphan;     /* the next event leaves what is not open */
    bool begun;      /* its track has been described */
    uint8_t named[(TRACE_FUNCTIONS_MAX + 8) / 8]; /* bits: functions with a name so far */
};

/* What the names of a process's functions are. Borrowed. */
struct perfetto_names {
    const char **names; /* names[i] is that of the number i + 1 */
    size_t count;
};

/* Appends packets for events in their order. -1 with ERROR_SYSTEM. */
int perfetto_lane_add(struct perfetto_lane *lane, struct buf *out, const struct trace_clock *clock,
                      struct perfetto_names names, const uint64_t *events, size_t count,
                      struct error *error);

/* All that is open ends: the thread has ended, or nobody knows what is open. */
void perfetto_lane_close(struct perfetto_lane *lane, struct buf *out);

void perfetto_lane_free(struct perfetto_lane *lane);

#endif
