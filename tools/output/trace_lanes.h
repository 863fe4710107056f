/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TOOLS_OUTPUT_TRACE_LANES_H
#define GASPIPE_TOOLS_OUTPUT_TRACE_LANES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Where on a track a span is shown without overlapping what is there. Each track (0, 1, …)
 * has a lane; more are made where spans overlap, as when the clock was set back between two
 * deliveries, or when the kernel handled syscalls of several deliveries that were under way at
 * the same time. All zeros has no lanes.
 */
struct trace_lanes {
    struct trace_lane *lanes; /* owned */
    size_t count, capacity;
    uint32_t *first; /* of each track: its first lane + 1, or 0; owned */
    size_t track_count, track_capacity;
    uint32_t extra_count; /* lanes that are not the first of their track */
};

struct trace_place {
    uint32_t lane;  /* of its track, from 0 */
    uint32_t extra; /* when lane > 0: its number among all such, from 1 */
    bool new_lane;  /* nothing was shown there before */
    int64_t from;   /* where the span begins now */
};

/*
 * Finds a place for a span from `from` on, `length` nanoseconds long (0 or more), at most
 * INT64_MAX / 2 from 0 at both of its ends. One that
 * overlaps the end of the one before it by less than start stamps are wrong (a microsecond, and a
 * thousandth of that one's length, for which the clock may have been slewed) is moved
 * behind it. -1 when memory ran out.
 */
int trace_lanes_place(struct trace_lanes *lanes, uint32_t track, int64_t from, int64_t length,
                      struct trace_place *place);

void trace_lanes_free(struct trace_lanes *lanes);

#endif
