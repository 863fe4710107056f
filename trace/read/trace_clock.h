/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TRACE_READ_TRACE_CLOCK_H
#define GASPIPE_TRACE_READ_TRACE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/memory.h"

/*
 * The processor's time stamp counter beside CLOCK_MONOTONIC. Processors of the last fifteen years
 * count at one pace, whatever they do (CPUID 8000_0007H, invariant TSC).
 */
struct trace_moment {
    uint64_t ticks;
    int64_t mono; /* nanoseconds */
};

struct trace_moment trace_moment_now(void);

/* Two moments of one machine, the earlier first, give the pace: the further apart the better. */
struct trace_clock {
    struct trace_moment first, last;
    enum trace_clock_kind kind; /* of events; all but the time stamp counter count for themselves */
};

/* By kind, NULL at the end: "tsc", "computrons", ... */
extern const char *const trace_clock_names[];

/* NULL is the time stamp counter. False: there is none of that name. */
bool trace_clock_take(enum trace_clock_kind *kind, const char *name);

/* Nanoseconds that so many ticks take; what another clock has counted. */
double trace_clock_duration(const struct trace_clock *clock, uint64_t ticks);

/* The ticks at a moment of CLOCK_MONOTONIC, and the other way round. */
uint64_t trace_clock_ticks(const struct trace_clock *clock, int64_t mono);
int64_t trace_clock_mono(const struct trace_clock *clock, uint64_t ticks);

#endif
