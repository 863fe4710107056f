/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/region.h"

#include "counter/gasmark.h"
#include "proto/command.h"

_Static_assert((int)WORKER_EXIT_INSTRUCTIONS == GASMARK_EXIT_LIMIT,
               "the counter ends the worker with a status that the supervisor knows");

bool region_open(struct region *region, uint64_t limit)
{
    region->counter = gasmark_present() == 1;
    region->limit = limit;
    return region->counter || limit == 0;
}

void region_start(const struct region *region, bool limited)
{
    if (region->limit > 0)
        gasmark_limit(limited ? region->limit : 0);
    if (region->counter)
        gasmark_start();
}

void region_pause(const struct region *region)
{
    if (region->counter)
        gasmark_pause();
}

void region_resume(const struct region *region)
{
    if (region->counter)
        gasmark_resume();
}

void region_stop(const struct region *region, struct meter *meter)
{
    struct gasmark_totals totals;

    meter->counted = region->counter;
    if (!region->counter)
        return;
    totals = gasmark_stop_totals();
    meter->instructions = totals.instructions;
    meter->bytes_read = totals.bytes_read;
    meter->bytes_written = totals.bytes_written;
}
