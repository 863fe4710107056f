/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/read/trace_throttle.h"

#include <sys/types.h>

static int64_t nanoseconds_of(clockid_t clock)
{
    struct timespec now;

    return clock_gettime(clock, &now) == 0 ? now.tv_sec * INT64_C(1000000000) + now.tv_nsec : 0;
}

int trace_throttle_open(struct trace_throttle *throttle, struct trace_ring *ring, uint64_t percent,
                        struct error *error)
{
    const struct patch_plan *plan = trace_ring_plan(ring);

    *throttle = (struct trace_throttle){0};
    if (percent == 0 || plan == NULL)
        return 0;
    if (trace_budget_open(&throttle->budget, (double)percent / 100, plan->count, error) != 0)
        return -1;
    throttle->ring = ring;
    /* Where a process's own time cannot be had, what has passed stands for it. */
    if (clock_getcpuclockid((pid_t)trace_ring_head(ring)->process, &throttle->clock) != 0)
        throttle->clock = CLOCK_MONOTONIC;
    throttle->process = nanoseconds_of(throttle->clock);
    throttle->reader = nanoseconds_of(CLOCK_THREAD_CPUTIME_ID);
    return 0;
}

void trace_throttle_close(struct trace_throttle *throttle)
{
    trace_budget_close(&throttle->budget);
    throttle->ring = NULL;
}

static void decide(struct trace_throttle *throttle)
{
    const int64_t process = nanoseconds_of(throttle->clock);
    const int64_t reader = nanoseconds_of(CLOCK_THREAD_CPUTIME_ID);
    const struct trace_spent spent = {process - throttle->process, reader - throttle->reader};
    const uint32_t *chosen;
    const size_t count = trace_budget_decide(&throttle->budget, spent, &chosen);

    for (size_t i = 0; i < count; i++)
        trace_ring_switch(throttle->ring, chosen[i], false);
    throttle->process = process;
    throttle->reader = reader;
}

void trace_throttle_add(struct trace_throttle *throttle, const uint64_t *events, size_t count)
{
    if (throttle->ring == NULL)
        return;
    trace_budget_add(&throttle->budget, events, count);
    if (trace_budget_is_due(&throttle->budget))
        decide(throttle);
}

void trace_throttle_put(struct trace_throttle *throttle, struct buf *out)
{
    if (throttle->ring != NULL)
        trace_budget_put(&throttle->budget, trace_ring_plan(throttle->ring), out);
}
