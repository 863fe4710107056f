/* SPDX-License-Identifier: Apache-2.0 */
#include "counter/qemu/region.h"

void region_start(struct region *region, struct tally now, uint64_t limit)
{
    *region = (struct region){.state = REGION_RUNNING, .entered = now, .limit = limit};
}

static void region_leave(struct region *region, struct tally now)
{
    region->kept = tally_sum(region->kept, tally_difference(now, region->entered));
}

void region_stop(struct region *region, struct tally now)
{
    if (region->state == REGION_RUNNING)
        region_leave(region, now);
    region->state = REGION_CLOSED;
}

void region_pause(struct region *region, struct tally now)
{
    if (region->state != REGION_RUNNING)
        return;
    region_leave(region, now);
    region->state = REGION_PAUSED;
}

void region_resume(struct region *region, struct tally now)
{
    if (region->state != REGION_PAUSED)
        return;
    region->entered = now;
    region->state = REGION_RUNNING;
}

void region_note_call(struct region *region, int64_t number)
{
    if (region->state == REGION_RUNNING)
        region->calls[report_call(number)]++;
}

struct tally region_tally(const struct region *region, struct tally now)
{
    if (region->state != REGION_RUNNING)
        return region->kept;
    return tally_sum(region->kept, tally_difference(now, region->entered));
}

bool region_over_limit(const struct region *region, struct tally now)
{
    return region->limit > 0 && region_tally(region, now).instructions > region->limit;
}
