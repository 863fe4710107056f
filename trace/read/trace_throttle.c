/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/read/trace_throttle.h"

#include <stdlib.h>
#include <unistd.h>
#include <x86intrin.h>

#include "trace/read/trace_text.h"

enum { HOLD_LOOKS = 20, HOLD_LOOK = 50000 /* nanoseconds, to which the kernel adds as much */ };

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

static void restore_all(struct trace_throttle *throttle)
{
    const int text = trace_text_open(throttle->process_id);
    struct trace_patch patch;

    if (text < 0)
        return;

    for (unsigned i = 1; i < throttle->budget.count; i++)
        if (throttle->budget.left_out[i] && !throttle->restored[i]) {
            throttle->restored[i] = true; /* what could not be put back once cannot be later */
            if (trace_ring_patch_of(throttle->ring, i, &patch))
                (void)trace_text_restore(text, &patch);
        }
    throttle->to_restore = 0;
    close(text);
}

/* In the agent, where it executes none of its own text. It gets there by the events that are too
 * many; when there are no more of them, it need not wait. */
static bool waits_in_agent(const struct trace_throttle *throttle)
{
    const struct timespec moment = {.tv_nsec = HOLD_LOOK};

    for (int i = 0; i < HOLD_LOOKS; i++) {
        const uint64_t address = trace_ring_held_at(throttle->ring);

        if (address != 0 && trace_text_waits_at(throttle->process_id, address))
            return true;
        (void)nanosleep(&moment, NULL);
    }
    return false;
}

/* In the middle of a delivery: functions that are left out are the most called ones, and even their
 * three jumps would cost more than the budget has. */
static void restore_now(struct trace_throttle *throttle)
{
    if (throttle->to_restore == 0 || !trace_ring_hold(throttle->ring))
        return;
    if (waits_in_agent(throttle))
        restore_all(throttle);
    trace_ring_go_on(throttle->ring);
}

static struct trace_spent spent_since(const struct trace_throttle *throttle)
{
    return (struct trace_spent){nanoseconds_of(throttle->clock) - throttle->process,
                                nanoseconds_of(CLOCK_THREAD_CPUTIME_ID) - throttle->reader};
}

static void decide(struct trace_throttle *throttle)
{
    const uint32_t *chosen;
    const size_t count = trace_budget_decide(&throttle->budget, spent_since(throttle), &chosen);

    for (size_t i = 0; i < count; i++)
        throttle->to_restore += !throttle->restored[chosen[i]];
    restore_now(throttle);
    for (size_t i = 0; i < count; i++)
        trace_ring_switch(throttle->ring, chosen[i], false);
    throttle->process = nanoseconds_of(throttle->clock);
    throttle->reader = nanoseconds_of(CLOCK_THREAD_CPUTIME_ID);
}

void trace_throttle_add(struct trace_throttle *throttle, const uint64_t *events, size_t count)
{
    if (throttle->ring == NULL)
        return;
    trace_budget_add(&throttle->budget, events, count);
    if (trace_budget_is_due(&throttle->budget))
        decide(throttle);
}

void trace_throttle_between(struct trace_throttle *throttle)
{
    if (throttle->ring != NULL && throttle->to_restore > 0 &&
        trace_text_is_idle(throttle->process_id))
        restore_all(throttle);
}

void trace_throttle_put(struct trace_throttle *throttle, struct buf *out)
{
    if (throttle->ring != NULL)
        trace_budget_put(&throttle->budget, trace_ring_plan(throttle->ring), out);
}
