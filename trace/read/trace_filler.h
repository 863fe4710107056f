/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TRACE_READ_TRACE_FILLER_H
#define GASPIPE_TRACE_READ_TRACE_FILLER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "trace/events/trace_times.h"
#include "trace/read/trace_file.h"

/* All readers of traces get their events here: with their times, also those that were not read. */
struct trace_filler {
    struct trace_times *processes; /* owned; by number. All zeros: it has no events yet */
    size_t count, capacity;
};

/* Events of a thread in their order, as trace/memory.h has them; each has a time. */
struct trace_lane_events {
    unsigned lane; /* less than TRACE_LANES_MAX */
    uint32_t thread;
    uint64_t *events; /* to be freed */
    size_t count;
};

/* Whether a block has events. */
bool trace_filler_takes(const struct trace_block *block);

/* The events of such a block, in the order of the file, whose process's number the caller has
 * checked. -1 with ERROR_INPUT for what is none, or ERROR_SYSTEM. */
int trace_filler_read(struct trace_filler *filler, const struct trace_block *block,
                      const uint8_t *content, struct trace_lane_events *events,
                      struct error *error);

/* For TRACE_BLOCK_LANE_ENDED. False: it names none. */
bool trace_filler_end_lane(struct trace_filler *filler, const struct trace_block *block,
                           const uint8_t *content, unsigned *lane);

/* Calls of a process's function whose times were estimated. */
uint64_t trace_filler_estimated(const struct trace_filler *filler, uint32_t process,
                                uint32_t function);

void trace_filler_free(struct trace_filler *filler);

#endif
