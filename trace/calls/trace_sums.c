/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/calls/trace_sums.h"

#include <string.h>

int trace_sums_open(struct trace_sums *sums, struct error *error)
{
    memset(sums, 0, sizeof *sums);
    return call_tree_open(&sums->tree, error);
}

void trace_sums_close(struct trace_sums *sums)
{
    for (size_t i = 0; i < TRACE_LANES_MAX; i++)
        thread_stack_free(&sums->stacks[i]);
    call_tree_close(&sums->tree);
}

int trace_sums_add(struct trace_sums *sums, unsigned lane, const uint64_t *events, size_t count,
                   struct error *error)
{
    if (lane >= TRACE_LANES_MAX)
        return 0;
    return thread_stack_add(&sums->stacks[lane], &sums->tree, sums->cut ? &sums->cuts[lane] : NULL,
                            events, count, error);
}

void trace_sums_end_lane(struct trace_sums *sums, unsigned lane)
{
    if (lane < TRACE_LANES_MAX)
        thread_stack_end(&sums->stacks[lane], &sums->tree);
}

struct trace_counts trace_sums_counts(const struct trace_sums *sums)
{
    struct trace_counts counts = {0};

    for (size_t i = 0; i < TRACE_LANES_MAX; i++) {
        counts.events += sums->stacks[i].events;
        counts.unwound += sums->stacks[i].unwound;
        counts.unmatched += sums->stacks[i].unmatched;
        counts.lost += sums->stacks[i].lost;
    }
    return counts;
}
