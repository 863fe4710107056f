/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/process/placement/placement_meter.h"

#include "base/saturate.h"

/* Nanoseconds between two stamps. Those of xsnap-worker are on the clock that can be set. */
static int64_t between(const struct stamp *first, const struct stamp *last)
{
    return first->mono != 0 ? last->mono - first->mono : (last->real - first->real) * 1000;
}

/* How long the worker had the turn: from each frame that came to the one that it sent. */
static int64_t worker_time(const struct meter *meter)
{
    int64_t sum = 0;

    for (size_t i = 0; i + 1 < meter->stamp_count; i += 2)
        sum = saturate_add(sum, between(&meter->stamps[i], &meter->stamps[i + 1]));
    return sum;
}

void placement_observe_meter(struct placement *placement, const struct meter *meter,
                             const struct session_turns *turns)
{
    const int64_t worker = worker_time(meter);
    const int64_t processor =
        meter->cpu_known ? (meter->cpu.user + meter->cpu.system) * 1000 : PLACEMENT_UNKNOWN;
    const struct placement_observation seen = {
        .now = turns->now,
        .waited = placement_waited(saturate_subtract(turns->away, worker), worker, processor),
        .frames = (int64_t)meter->stamp_count,
        .in_flight = 1,
    };
    const char *reason;

    /* Stamps may claim anything. */
    if (worker < 0 || worker > turns->away)
        return;
    if (seen.frames > 0 && seen.frames == turns->frames && seen.waited >= 0)
        (void)placement_observe(placement, &seen, &reason);
}
