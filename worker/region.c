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
    region_rebase(region);
    return region->counter || limit == 0;
}

void region_rebase(struct region *region)
{
    /* The engine has one thread, and asking for one takes half the time. Cannot
     * fail: the address is ours. */
    (void)getrusage(RUSAGE_THREAD, &region->before);
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

static int64_t microseconds_between(struct timeval from, struct timeval to)
{
    return (int64_t)(to.tv_sec - from.tv_sec) * 1000000 + (to.tv_usec - from.tv_usec);
}

static struct meter_cpu cpu_between(const struct rusage *before, const struct rusage *now)
{
    return (struct meter_cpu){
        .user = microseconds_between(before->ru_utime, now->ru_utime),
        .system = microseconds_between(before->ru_stime, now->ru_stime),
        .waits = now->ru_nvcsw - before->ru_nvcsw,
        .preempt = now->ru_nivcsw - before->ru_nivcsw,
        .faults = now->ru_majflt - before->ru_majflt,
    };
}

void region_stop(struct region *region, struct meter *meter)
{
    struct rusage before = region->before;

    meter->counted = region->counter;
    if (region->counter) {
        struct gasmark_totals totals = gasmark_stop_totals();

        meter->instructions = totals.instructions;
        meter->bytes_read = totals.bytes_read;
        meter->bytes_written = totals.bytes_written;
    }
    region_rebase(region);
    meter->cpu = cpu_between(&before, &region->before);
    meter->cpu_known = true;
}
