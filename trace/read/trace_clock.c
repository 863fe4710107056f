/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/read/trace_clock.h"

#include <x86intrin.h>

#include "base/stamp.h"

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
    return (double)ticks * pace(clock);
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
