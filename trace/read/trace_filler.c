/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/read/trace_filler.h"

#include <stdlib.h>

#include "base/array.h"
#include "trace/calls/trace_sums.h"
#include "trace/events/event_code.h"
#include "trace/memory.h"

bool trace_filler_takes(const struct trace_block *block)
{
    return block->kind == TRACE_BLOCK_EVENTS;
}

static int no_memory(struct error *error)
{
    return error_memory(error, "a trace");
}

static int decode(const struct trace_block *block, const uint8_t *content,
                  struct trace_lane_events *events, struct error *error)
{
    const uint8_t *at = content, *const end = content + block->length;
    uint64_t lane, thread;
    int result = -1;

    *events = (struct trace_lane_events){0};
    if (event_code_take(&at, end, &lane) && event_code_take(&at, end, &thread) &&
        lane < TRACE_LANES_MAX)
        result = event_code_read(at, end, &events->events, &events->count);
    if (result == 0) {
        events->lane = (unsigned)lane;
        events->thread = (uint32_t)thread;
        return 0;
    }
    free(events->events);
    events->events = NULL;
    return result == -2 ? no_memory(error)
                        : error_set(error, ERROR_INPUT, "a block of a trace has no events");
}

/* NULL without memory. */
static struct trace_times *times_of(struct trace_filler *filler, uint32_t process,
                                    struct error *error)
{
    struct trace_times *const processes =
        array_reserve(filler->processes, &filler->capacity, (size_t)process + 1, sizeof *processes);

    if (processes == NULL) {
        no_memory(error);
        return NULL;
    }
    filler->processes = processes;
    while (filler->count <= process)
        processes[filler->count++] = (struct trace_times){0};
    if (processes[process].gaps == NULL &&
        trace_times_open(&processes[process], TRACE_LANES_MAX, error) != 0)
        return NULL;
    return &processes[process];
}

int trace_filler_read(struct trace_filler *filler, const struct trace_block *block,
                      const uint8_t *content, struct trace_lane_events *events, struct error *error)
{
    struct trace_times *times;

    if (decode(block, content, events, error) != 0)
        return -1;
    times = times_of(filler, block->process, error);
    if (times != NULL) {
        trace_times_fill(times, events->lane, events->events, events->count);
        return 0;
    }
    free(events->events);
    events->events = NULL;
    return -1;
}

bool trace_filler_end_lane(struct trace_filler *filler, const struct trace_block *block,
                           const uint8_t *content, unsigned *lane)
{
    const uint8_t *at = content;
    uint64_t number;

    if (!event_code_take(&at, content + block->length, &number) || number >= TRACE_LANES_MAX)
        return false;
    *lane = (unsigned)number;
    if (block->process < filler->count && filler->processes[block->process].lanes != NULL)
        trace_times_end_lane(&filler->processes[block->process], *lane);
    return true;
}

uint64_t trace_filler_estimated(const struct trace_filler *filler, uint32_t process,
                                uint32_t function)
{
    return process < filler->count && filler->processes[process].estimated != NULL &&
                   function < TRACE_CONTROL
               ? filler->processes[process].estimated[function]
               : 0;
}

void trace_filler_free(struct trace_filler *filler)
{
    for (size_t i = 0; i < filler->count; i++)
        trace_times_close(&filler->processes[i]);
    free(filler->processes);
    *filler = (struct trace_filler){0};
}
