/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/ring/trace_seldom.h"

#include <stdlib.h>

#include "trace/memory.h"

enum {
    CALLS_SELDOM = 512, /* in dense chunks, until a function's times are read seldom */
    /* Ticks for an event: reading the clock takes about 20, so it is a tenth of what passes where
     * there are 200, and does not count where there are 2000. */
    DENSE = 200,
    SPARSE = 2000,
};

int trace_seldom_open(struct trace_seldom *seldom, size_t functions, struct error *error)
{
    *seldom = (struct trace_seldom){.count = functions + 1};
    seldom->functions = calloc(seldom->count, sizeof *seldom->functions);
    return seldom->functions != NULL ? 0 : error_memory(error, "the times of a trace");
}

void trace_seldom_close(struct trace_seldom *seldom)
{
    free(seldom->functions);
    *seldom = (struct trace_seldom){0};
}

void trace_seldom_leave(struct trace_seldom *seldom, unsigned number)
{
    seldom->functions[number].settled = true;
}

/* ---- decisions ---- */

static bool has_time(uint64_t event)
{
    const uint64_t time = event >> TRACE_TIME_SHIFT;

    return (event >> 1 & 0x7fff) < TRACE_CONTROL && time != 0 && time != TRACE_TIME_WHOLE;
}

/* Of the chunk's events, ticks for each. */
static uint64_t pace(const uint64_t *events, size_t count)
{
    size_t first = 0, last = count;
    uint64_t passed;

    while (first < count && !has_time(events[first]))
        first++;
    while (last > first && !has_time(events[last - 1]))
        last--;
    if (last <= first + 1)
        return SPARSE;
    passed = ((events[last - 1] >> TRACE_TIME_SHIFT) - (events[first] >> TRACE_TIME_SHIFT)) &
             TRACE_TIME_MASK;
    /* The clock seems to have gone back, as it may around a signal's handler. */
    if (passed > TRACE_TIME_MASK / 2)
        passed = 0;
    return passed / (last - first - 1);
}

static void set_seldom(struct trace_seldom *seldom, unsigned number, bool set,
                       trace_seldom_change *changed, void *context)
{
    struct seldom_function *const function = &seldom->functions[number];

    function->seldom = function->settled = set;
    function->dense = 0;
    seldom->seldom_count += set ? 1 : (size_t)-1;
    changed(context, number, set);
}

static bool is_entry(const struct trace_seldom *seldom, uint64_t event)
{
    return (event & 1) == 0 && (event >> 1 & 0x7fff) < seldom->count;
}

static void decide_dense(struct trace_seldom *seldom, const uint64_t *events, size_t count,
                         trace_seldom_change *changed, void *context)
{
    for (size_t i = 0; i < count; i++) {
        const unsigned number = events[i] >> 1 & 0x7fff;
        struct seldom_function *const function = &seldom->functions[number];

        if (!is_entry(seldom, events[i]))
            continue;
        function->calls += function->calls > 0;
        if (function->settled || ++function->dense < CALLS_SELDOM)
            continue;
        set_seldom(seldom, number, true, changed, context);
        function->calls += function->calls == 0;
    }
}

static void decide_others(struct trace_seldom *seldom, const uint64_t *events, size_t count,
                          bool sparse, trace_seldom_change *changed, void *context)
{
    for (size_t i = 0; i < count; i++) {
        const unsigned number = events[i] >> 1 & 0x7fff;

        if (!is_entry(seldom, events[i]))
            continue;
        seldom->functions[number].calls += seldom->functions[number].calls > 0;
        if (sparse && seldom->functions[number].seldom)
            set_seldom(seldom, number, false, changed, context);
    }
}

void trace_seldom_decide(struct trace_seldom *seldom, const uint64_t *events, size_t count,
                         trace_seldom_change *changed, void *context)
{
    const uint64_t ticks = pace(events, count);

    if (ticks < DENSE)
        decide_dense(seldom, events, count, changed, context);
    else
        decide_others(seldom, events, count, ticks >= SPARSE, changed, context);
}

uint64_t trace_seldom_calls(const struct trace_seldom *seldom, unsigned number)
{
    return seldom->functions[number].calls;
}
