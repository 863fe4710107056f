/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/read/trace_clock.h"

#include <string.h>
#include <x86intrin.h>

#include "base/stamp.h"

const char *const trace_clock_names[] = {
    [TRACE_CLOCK_TSC] = "tsc",
    [TRACE_CLOCK_COMPUTRONS] = "computrons",
    [TRACE_CLOCK_CYCLES] = "cycles",
    [TRACE_CLOCK_INSTRUCTIONS] = "instructions",
    [TRACE_CLOCK_CACHE_MISSES] = "cache-misses",
    [TRACE_CLOCK_TLB_MISSES] = "tlb-misses",
    [TRACE_CLOCK_PAGE_FAULTS] = "page-faults",
    [TRACE_CLOCKS] = NULL,
};

bool trace_clock_take(enum trace_clock_kind *kind, const char *name)
{
    for (int i = 0; name != NULL && i < TRACE_CLOCKS; i++)
        if (strcmp(name, trace_clock_names[i]) == 0) {
            *kind = (enum trace_clock_kind)i;
            return true;
        }
    *kind = TRACE_CLOCK_TSC;
    return name == NULL;
}

/* Of three readings the one between which least time passed: the others were interrupted. */
struct trace_moment trace_moment_now(void)
{
    struct trace_moment best = {0};
    uint64_t shortest = UINT64_MAX;

    for (int i = 0; i < 3; i++) {
        const uint64_t before = __rdtsc();
        const int64_t mono = stamp_now().mono;
        const uint64_t after = __rdtsc();

        if (after - before >= shortest)
            continue;
        shortest = after - before;
        best = (struct trace_moment){.ticks = before + shortest / 2, .mono = mono};
    }
    return best;
}

/* Nanoseconds of a tick. */
static double pace(const struct trace_clock *clock)
{
    const uint64_t ticks = clock->last.ticks - clock->first.ticks;

    return ticks == 0 ? 0 : (double)(clock->last.mono - clock->first.mono) / (double)ticks;
}

double trace_clock_duration(const struct trace_clock *clock, uint64_t ticks)
{
    return clock->kind == TRACE_CLOCK_TSC ? (double)ticks * pace(clock) : (double)ticks;
}

uint64_t trace_clock_ticks(const struct trace_clock *clock, int64_t mono)
{
    const double nanoseconds = pace(clock);

    return nanoseconds <= 0
               ? 0
               : clock->first.ticks +
                     (uint64_t)(int64_t)((double)(mono - clock->first.mono) / nanoseconds);
}

int64_t trace_clock_mono(const struct trace_clock *clock, uint64_t ticks)
{
    return clock->first.mono +
           (int64_t)((double)(int64_t)(ticks - clock->first.ticks) * pace(clock));
}
