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

void region_start(struct region *region, bool limited)
{
    if (region->limit > 0)
        gasmark_limit(limited ? region->limit : 0);
    /* The engine has one thread, and asking for one takes half the time. Cannot
     * fail: the address is ours. */
    (void)getrusage(RUSAGE_THREAD, &region->before);
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

static struct meter_cpu cpu_since(const struct rusage *before)
{
    struct rusage now;

    (void)getrusage(RUSAGE_THREAD, &now);
    return (struct meter_cpu){
        .user = microseconds_between(before->ru_utime, now.ru_utime),
        .system = microseconds_between(before->ru_stime, now.ru_stime),
        .waits = now.ru_nvcsw - before->ru_nvcsw,
        .preempt = now.ru_nivcsw - before->ru_nivcsw,
        .faults = now.ru_majflt - before->ru_majflt,
    };
}

void region_stop(const struct region *region, struct meter *meter)
{
    meter->counted = region->counter;
    if (region->counter) {
        meter->instructions = gasmark_stop();
        meter->bytes_read = gasmark_bytes_read();
        meter->bytes_written = gasmark_bytes_written();
    }
    meter->cpu = cpu_since(&region->before);
    meter->cpu_known = true;
}
