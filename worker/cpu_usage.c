/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/cpu_usage.h"

void cpu_usage_rebase(struct cpu_usage *usage, int64_t now)
{
    usage->asked = now;
    /* The engine has one thread, and asking for one takes half the time. Cannot
     * fail: the address is ours. */
    (void)getrusage(RUSAGE_THREAD, &usage->before);
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

void cpu_usage_take(struct cpu_usage *usage, int64_t now, struct meter *meter)
{
    const struct rusage before = usage->before;

    if (now - usage->asked < CPU_USAGE_INTERVAL)
        return;
    cpu_usage_rebase(usage, now);
    meter->cpu = cpu_between(&before, &usage->before);
    meter->cpu_known = true;
}
