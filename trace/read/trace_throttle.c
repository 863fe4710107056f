/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/read/trace_throttle.h"

#include <stdlib.h>
#include <unistd.h>
#include <x86intrin.h>

#include "trace/read/trace_text.h"

enum {
    HOLD_LOOKS = 20,
    HOLD_LOOK = 50000, /* nanoseconds, to which the kernel adds as much */
    HURRY = 20000000,  /* nanoseconds */
    MOMENT_HURRIED = 50000,
    MOMENT_CLOSE = 200000,
    CHUNKS_HURRIED = 4,  /* as many events as a decision needs */
    BEHIND_MOST = 20000, /* events: a reader that never catches up decides all the same */
    COLD_COST = 2500,    /* nanoseconds: what keeps the share of cold code (docs/benchmarks.md) */
    COLD_AFTER = 40000,  /* ticks: other code has had the caches since */
};

static int64_t nanoseconds_of(clockid_t clock)
{
    struct timespec now;

    return clock_gettime(clock, &now) == 0 ? now.tv_sec * INT64_C(1000000000) + now.tv_nsec : 0;
}

/*
 * What an event takes on this machine: a reading of the counter, which costs more in a virtual
 * machine, and what is around it. In bench/trace's loop that is a quarter as much; in code that is
 * as large as an engine (docs/benchmarks.md) four fifths.
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
    return 1.8 * (double)least / READINGS;
}

static void hurry(struct trace_throttle *throttle)
{
    throttle->hurry = nanoseconds_of(CLOCK_MONOTONIC) + HURRY;
    throttle->is_close = true;
    trace_ring_open_chunks(throttle->ring, CHUNKS_HURRIED);
}

int64_t trace_throttle_moment(const struct trace_throttle *throttle, int64_t usual)
{
    int64_t moment;

    if (throttle->ring == NULL || !throttle->is_close)
        return usual;
    moment = nanoseconds_of(CLOCK_MONOTONIC) < throttle->hurry ? MOMENT_HURRIED : MOMENT_CLOSE;
    return moment < usual ? moment : usual;
}

int trace_throttle_open(struct trace_throttle *throttle, struct trace_ring *ring, uint64_t percent,
                        trace_throttle_note *note, void *context, struct error *error)
{
    const struct patch_plan *plan = trace_ring_plan(ring);

    *throttle = (struct trace_throttle){.note = note, .context = context};
    if (percent == 0 || plan == NULL)
        return 0;
    if (trace_budget_open(&throttle->budget, (double)percent / 100, plan->count, error) != 0)
        return -1;
    throttle->restored = calloc(plan->count + 1, sizeof *throttle->restored);
    if (throttle->restored == NULL)
        return error_memory(error, "the budget of a trace");
    throttle->budget.event_cost = event_cost();
    if (trace_ring_head(ring)->clock == TRACE_CLOCK_TSC) {
        throttle->budget.cold_cost = COLD_COST;
        throttle->budget.cold_after = COLD_AFTER;
    }
    throttle->ring = ring;
    throttle->process_id = (pid_t)trace_ring_head(ring)->process;
    /* Where a process's own time cannot be had, what has passed stands for it. */
    if (clock_getcpuclockid(throttle->process_id, &throttle->clock) != 0)
        throttle->clock = CLOCK_MONOTONIC;
    throttle->process = nanoseconds_of(throttle->clock);
    hurry(throttle);
    return 0;
}

void trace_throttle_close(struct trace_throttle *throttle)
{
    trace_budget_close(&throttle->budget);
    trace_absences_free(&throttle->absences);
    free(throttle->restored);
    throttle->restored = NULL;
    throttle->ring = NULL;
}

/* The trace's readers are told as well. */
static int leave_out(struct trace_throttle *throttle, const uint32_t *numbers, size_t count,
                     struct error *error)
{
    const int64_t now = nanoseconds_of(CLOCK_MONOTONIC);

    for (size_t i = 0; i < count; i++) {
        trace_ring_leave_out(throttle->ring, numbers[i]);
        if (trace_absences_add(&throttle->absences, 0, numbers[i], now, error) != 0)
            return -1;
    }
    return throttle->note != NULL && count > 0
               ? throttle->note(throttle->context, numbers, count, now, error)
               : 0;
}

/* ---- too much ---- */

static void restore_all(struct trace_throttle *throttle)
{
    const int text = trace_text_open(throttle->process_id);
    struct trace_patch patch;

    if (text < 0)
        return;

    for (unsigned i = 1; i < throttle->budget.count; i++)
        if (throttle->budget.functions[i].left_out && !throttle->restored[i]) {
            throttle->restored[i] = true; /* what could not be put back once cannot be later */
            if (trace_ring_patch_of(throttle->ring, i, &patch))
                (void)trace_text_put(text, &patch, false);
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
    const struct trace_reading *const reading = &throttle->reading;
    const double each = reading->events > 0 ? (double)reading->time / (double)reading->events : 0;

    return (struct trace_spent){nanoseconds_of(throttle->clock) - throttle->process,
                                (int64_t)(each * (double)throttle->budget.events)};
}

static void open_wide(struct trace_throttle *throttle)
{
    throttle->is_close = false;
    trace_ring_open_chunks(throttle->ring, UINT32_MAX);
}

static int decide(struct trace_throttle *throttle, struct error *error)
{
    const uint32_t *chosen;
    const size_t count = trace_budget_decide(&throttle->budget, spent_since(throttle), &chosen);
    int result;

    for (size_t i = 0; i < count; i++)
        throttle->to_restore += !throttle->restored[chosen[i]];
    restore_now(throttle);
    result = leave_out(throttle, chosen, count, error);
    if (count > 0)
        hurry(throttle);
    else
        open_wide(throttle);
    throttle->process = nanoseconds_of(throttle->clock);
    throttle->reading = (struct trace_reading){0};
    return result;
}

/* While the process is ahead, the reader does nothing else than read. */
static void time_reading(struct trace_throttle *throttle, size_t count)
{
    struct trace_reading *const reading = &throttle->reading;
    const int64_t now = nanoseconds_of(CLOCK_THREAD_CPUTIME_ID);

    if (reading->behind) {
        reading->time += now - reading->last;
        reading->events += count;
    }
    reading->last = now;
    reading->behind = trace_ring_is_behind(throttle->ring);
}

int trace_throttle_add(struct trace_throttle *throttle, const uint64_t *events, size_t count,
                       struct error *error)
{
    if (throttle->ring == NULL)
        return 0;
    time_reading(throttle, count);
    trace_budget_add(&throttle->budget, events, count);
    /* What the process has used is known as of now, and so have to be its events. */
    if (!trace_budget_is_due(&throttle->budget) ||
        (throttle->budget.events < BEHIND_MOST && throttle->reading.behind))
        return 0;
    return decide(throttle, error);
}

void trace_throttle_between(struct trace_throttle *throttle)
{
    if (throttle->ring != NULL && throttle->to_restore > 0 &&
        trace_text_is_idle(throttle->process_id))
        restore_all(throttle);
}

/* ---- words ---- */

static const char *name_of(void *context, uint32_t function)
{
    const struct trace_throttle *const throttle = context;
    const struct patch_plan *const plan = trace_ring_plan(throttle->ring);

    return function >= 1 && function <= plan->count ? plan->functions[function - 1].name : "?";
}

static uint64_t calls_of(void *context, uint32_t function)
{
    const struct trace_throttle *const throttle = context;

    return throttle->budget.functions[function].all;
}

int trace_throttle_put(struct trace_throttle *throttle, int64_t zero, struct buf *out,
                       struct error *error)
{
    const struct trace_absence_words words = {name_of, calls_of, throttle, zero};

    return throttle->ring != NULL ? trace_absences_put(&throttle->absences, 0, &words, out, error)
                                  : 0;
}
