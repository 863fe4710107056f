/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/report/perfetto_lane.h"

#include <stdlib.h>

#include "base/array.h"
#include "trace/report/perfetto_packet.h"

/* Nanoseconds since the packet before; time does not go backwards. */
static uint64_t pass(struct perfetto_lane *lane, int64_t time)
{
    const int64_t after = time > lane->time ? time - lane->time : 0;

    lane->time += after;
    return (uint64_t)after;
}

/* The event's ticks are 48 bits, near to those of the event before. */
static int64_t time_of(struct perfetto_lane *lane, const struct trace_clock *clock, uint64_t event)
{
    const uint64_t low = event >> TRACE_TIME_SHIFT;
    const uint64_t ahead = (low - lane->ticks) & TRACE_TIME_MASK;

    if (ahead < TRACE_TIME_MASK / 2)
        lane->ticks += ahead;
    return trace_clock_mono(clock, lane->ticks);
}

static void pop(struct perfetto_lane *lane, struct buf *out, int64_t time)
{
    if (lane->depth == 0)
        return;
    lane->depth--;
    perfetto_packet_end(out, lane->sequence, pass(lane, time));
}

static int perfetto_lane_push(struct perfetto_lane *lane, struct buf *out,
                              struct perfetto_names names, uint32_t function, int64_t time,
                              struct error *error)
{
    uint32_t *functions =
        array_reserve(lane->functions, &lane->capacity, lane->depth + 1, sizeof *functions);
    const bool named = (lane->named[function / 8] & 1U << function % 8) != 0;
    const char *name = function >= 1 && function <= names.count ? names.names[function - 1] : "?";

    if (functions == NULL)
        return error_memory(error, "a stack of calls");
    lane->functions = functions;
    functions[lane->depth++] = function;
    lane->named[function / 8] |= (uint8_t)(1U << function % 8);
    perfetto_packet_begin(out, lane->sequence, pass(lane, time), function, named ? NULL : name);
    return 0;
}

void perfetto_lane_close(struct perfetto_lane *lane, struct buf *out)
{
    while (lane->depth > 0)
        pop(lane, out, lane->time);
    lane->deep = 0;
    lane->ending = 0;
    lane->orphan = false;
}

/* What is left without being on top is looked for below, as in thread_stack.c. */
static void perfetto_lane_leave(struct perfetto_lane *lane, struct buf *out, uint32_t function,
                                int64_t time)
{
    size_t depth = lane->depth;

    if (lane->orphan) {
        lane->orphan = false;
        return;
    }
    while (depth > 0 && lane->functions[depth - 1] != function)
        depth--;
    if (lane->depth == 0 && lane->deep > 0)
        lane->deep--;
    while (depth > 0 && lane->depth >= depth)
        pop(lane, out, time);
}

static int add_control(struct perfetto_lane *lane, struct buf *out, struct perfetto_names names,
                       uint64_t event, struct error *error)
{
    const uint64_t argument = event >> TRACE_TIME_SHIFT;

    switch (event >> 1 & 0x7fff) {
    case TRACE_UNWOUND:
        lane->ending += argument;
        return 0;
    case TRACE_ORPHAN:
        lane->orphan = true;
        return 0;
    case TRACE_DEPTH:
        lane->ending =
            lane->deep + lane->depth > argument ? lane->deep + lane->depth - argument : 0;
        return 0;
    case TRACE_LOST:
        perfetto_lane_close(lane, out);
        return 0;
    case TRACE_DEEP:
        lane->deep = argument;
        return 0;
    case TRACE_OPEN:
        if ((argument & 0x7fff) >= TRACE_CONTROL)
            return 0;
        return perfetto_lane_push(lane, out, names, (uint32_t)argument & 0x7fff, lane->time, error);
    default:
        return 0;
    }
}

static int add_one(struct perfetto_lane *lane, struct buf *out, const struct trace_clock *clock,
                   struct perfetto_names names, uint64_t event, struct error *error)
{
    const uint32_t function = event >> 1 & 0x7fff;
    int64_t time;

    if (function >= TRACE_CONTROL)
        return add_control(lane, out, names, event, error);
    time = time_of(lane, clock, event);
    for (; lane->ending > 0 && lane->depth > 0; lane->ending--)
        pop(lane, out, time);
    lane->deep -= lane->ending < lane->deep ? lane->ending : lane->deep;
    lane->ending = 0;
    if ((event & 1) == 0)
        return perfetto_lane_push(lane, out, names, function, time, error);
    perfetto_lane_leave(lane, out, function, time);
    return 0;
}

int perfetto_lane_add(struct perfetto_lane *lane, struct buf *out, const struct trace_clock *clock,
                      struct perfetto_names names, const uint64_t *events, size_t count,
                      struct error *error)
{
    for (size_t i = 0; i < count; i++)
        if (add_one(lane, out, clock, names, events[i], error) != 0)
            return -1;
    return 0;
}

void perfetto_lane_free(struct perfetto_lane *lane)
{
    free(lane->functions);
    lane->functions = NULL;
    lane->depth = lane->capacity = 0;
}
