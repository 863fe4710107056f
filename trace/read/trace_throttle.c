/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/read/trace_throttle.h"

#include <stdlib.h>
#include <unistd.h>
#include <x86intrin.h>

#include "trace/read/trace_text.h"

static int64_t nanoseconds_of(clockid_t clock)
{
    struct timespec now;

    return clock_gettime(clock, &now) == 0 ? now.tv_sec * INT64_C(1000000000) + now.tv_nsec : 0;
}

/*
 * What an event takes on this machine. bench/trace has 47.6 ticks for the two of a call beside 38.6
 * of two bare readings of the counter; that these cost more in a virtual machine decides.
 */
static double event_cost(void)
{
    enum { READINGS = 2000 };
    volatile uint64_t kept;
    int64_t least = INT64_MAX;

    for (int turn = 0; turn < 5; turn++) {
        const int64_t before = nanoseconds_of(CLOCK_MONOTONIC);
        int64_t passed;

        for (int i = 0; i < READINGS; i++)
            kept = __rdtsc();
        (void)kept;
        passed = nanoseconds_of(CLOCK_MONOTONIC) - before;
        least = passed < least ? passed : least;
    }
    return 1.25 * (double)least / READINGS;
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
    throttle->restored = calloc(plan->count + 1, sizeof *throttle->restored);
    if (throttle->restored == NULL)
        return error_memory(error, "the budget of a trace");
    throttle->budget.event_cost = event_cost();
    throttle->ring = ring;
    throttle->process_id = (pid_t)trace_ring_head(ring)->process;
    /* Where a process's own time cannot be had, what has passed stands for it. */
    if (clock_getcpuclockid(throttle->process_id, &throttle->clock) != 0)
        throttle->clock = CLOCK_MONOTONIC;
    throttle->process = nanoseconds_of(throttle->clock);
    throttle->reader = nanoseconds_of(CLOCK_THREAD_CPUTIME_ID);
    return 0;
}

void trace_throttle_close(struct trace_throttle *throttle)
{
    trace_budget_close(&throttle->budget);
    free(throttle->restored);
    throttle->restored = NULL;
    throttle->ring = NULL;
}

static void decide(struct trace_throttle *throttle)
{
    const int64_t process = nanoseconds_of(throttle->clock);
    const int64_t reader = nanoseconds_of(CLOCK_THREAD_CPUTIME_ID);
    const struct trace_spent spent = {process - throttle->process, reader - throttle->reader};
    const uint32_t *chosen;
    const size_t count = trace_budget_decide(&throttle->budget, spent, &chosen);

    for (size_t i = 0; i < count; i++) {
        trace_ring_switch(throttle->ring, chosen[i], false);
        throttle->to_restore += !throttle->restored[chosen[i]];
    }
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

static void restore_all(struct trace_throttle *throttle, int text)
{
    struct trace_patch patch;

    for (unsigned i = 1; i < throttle->budget.count; i++)
        if (throttle->budget.left_out[i] && !throttle->restored[i]) {
            throttle->restored[i] = true; /* what could not be put back once cannot be later */
            if (trace_ring_patch_of(throttle->ring, i, &patch))
                (void)trace_text_restore(text, &patch);
        }
    throttle->to_restore = 0;
}

void trace_throttle_between(struct trace_throttle *throttle)
{
    int text;

    if (throttle->ring == NULL || throttle->to_restore == 0 ||
        !trace_text_is_idle(throttle->process_id))
        return;
    text = trace_text_open(throttle->process_id);
    if (text < 0)
        return;
    restore_all(throttle, text);
    close(text);
}

void trace_throttle_put(struct trace_throttle *throttle, struct buf *out)
{
    if (throttle->ring != NULL)
        trace_budget_put(&throttle->budget, trace_ring_plan(throttle->ring), out);
}
