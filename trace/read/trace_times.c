/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/read/trace_times.h"

#include <inttypes.h>
#include <stdlib.h>

#include "trace/memory.h"

enum {
    GAPS = 1 << 14,
    SIXTEENTHS = 16,
    CALLS_SELDOM = 512, /* in dense chunks, until a function's times are read seldom */
    /* Ticks for an event: reading the clock takes about 20, so it is a tenth of what passes where
     * there are 200, and does not count where there are 2000. */
    DENSE = 200,
    SPARSE = 2000,
    SHOWN = 8,
};

int trace_times_open(struct trace_times *times, size_t functions, unsigned lanes,
                     struct error *error)
{
    *times = (struct trace_times){.count = functions + 1};
    times->gaps = calloc(GAPS, sizeof *times->gaps);
    times->lanes = calloc(lanes, sizeof *times->lanes);
    times->calls = calloc(times->count, sizeof *times->calls);
    times->seldom = calloc(times->count, sizeof *times->seldom);
    times->ever = calloc(times->count, sizeof *times->ever);
    times->left = calloc(times->count, sizeof *times->left);
    times->all = calloc(times->count, sizeof *times->all);
    if (times->gaps != NULL && times->lanes != NULL && times->calls != NULL &&
        times->seldom != NULL && times->ever != NULL && times->left != NULL && times->all != NULL)
        return 0;
    return error_memory(error, "the times of a trace");
}

void trace_times_close(struct trace_times *times)
{
    free(times->gaps);
    free(times->lanes);
    free(times->calls);
    free(times->seldom);
    free(times->ever);
    free(times->left);
    free(times->all);
    *times = (struct trace_times){0};
}

void trace_times_leave(struct trace_times *times, unsigned number)
{
    times->left[number] = true;
}

void trace_times_end_lane(struct trace_times *times, unsigned lane)
{
    times->lanes[lane] = (struct trace_lane_time){0};
}

/* ---- events ---- */

static uint32_t call_of(uint64_t event)
{
    return event & 0xffff;
}

static bool is_call(uint64_t event)
{
    return (call_of(event) >> 1) < TRACE_CONTROL;
}

static bool is_timed(uint64_t event)
{
    const uint64_t time = event >> TRACE_TIME_SHIFT;

    return time != 0 && time != TRACE_TIME_WHOLE;
}

static uint64_t with_time(uint64_t event, uint64_t time)
{
    return time << TRACE_TIME_SHIFT | call_of(event);
}

/* 0 where the clock seems to have gone back, as it may around a signal's handler. */
static uint64_t passed_between(uint64_t from, uint64_t to)
{
    const uint64_t passed = (to - from) & TRACE_TIME_MASK;

    return passed > TRACE_TIME_MASK / 2 ? 0 : passed;
}

/* ---- how long it takes from one event to the next ---- */

static struct trace_gap *gap_between(const struct trace_times *times, uint32_t before,
                                     uint32_t behind)
{
    const uint32_t events = before << 16 | behind;

    return &times->gaps[(events * 0x9e3779b1U) >> 18 & (GAPS - 1)];
}

/* The mean follows what is measured. One measurement moves it only so far: the process may have
 * been interrupted. */
static void learn(struct trace_times *times, uint32_t before, uint32_t behind, uint64_t ticks)
{
    struct trace_gap *const gap = gap_between(times, before, behind);
    const uint64_t measured = ticks < UINT32_MAX / 64 ? ticks * SIXTEENTHS : UINT32_MAX / 4;
    const uint64_t most = 4 * (uint64_t)gap->mean + 64 * SIXTEENTHS;

    if (gap->events != (before << 16 | behind) || gap->mean == 0) {
        *gap = (struct trace_gap){before << 16 | behind, (uint32_t)measured + 1};
        return;
    }
    gap->mean += (uint32_t)(((int64_t)(measured < most ? measured : most) - gap->mean) / 16);
    gap->mean += gap->mean == 0;
}

/* In sixteenths of ticks; 0: not known. */
static uint32_t expected(const struct trace_times *times, uint32_t before, uint32_t behind)
{
    const struct trace_gap *const gap = gap_between(times, before, behind);

    return gap->events == (before << 16 | behind) ? gap->mean : 0;
}

/* ---- events without times ---- */

/* What lies between two events with times: how long it should take, and how long it did. */
struct window {
    const struct trace_times *times;
    uint32_t before;   /* the event with which it begins */
    uint64_t begin;    /* its time */
    double known;      /* ticks that its gaps take, as far as they are known */
    double longest;    /* of them */
    size_t unknown;    /* gaps */
    double of_known;   /* what is passed out for each tick that is known */
    double of_unknown; /* to each gap that is not */
    double of_longest; /* and to the longest */
};

static void survey(struct window *window, const uint64_t *events, size_t count)
{
    uint32_t before = window->before;

    for (size_t i = 0; i < count; i++) {
        double ticks;

        if (!is_call(events[i]) || events[i] >> TRACE_TIME_SHIFT == TRACE_TIME_WHOLE)
            continue;
        ticks = expected(window->times, before, call_of(events[i]));
        before = call_of(events[i]);
        window->known += ticks / SIXTEENTHS;
        window->unknown += ticks == 0;
        window->longest =
            ticks / SIXTEENTHS > window->longest ? ticks / SIXTEENTHS : window->longest;
    }
}

/* Much more time than expected was spent in one place: in one that is not known, or else in the
 * longest. Otherwise all took longer, or shorter, alike. */
static void divide(struct window *window, double passed)
{
    const double rest = passed - window->known;

    window->of_known = 1;
    if (rest > 0 && window->unknown > 0)
        window->of_unknown = rest / (double)window->unknown;
    else if (rest > 3 * window->known)
        window->of_longest = rest;
    else if (window->known > 0)
        window->of_known = passed / window->known;
}

static void fill_window(const struct window *window, uint64_t *events, size_t count)
{
    uint32_t before = window->before;
    double longest = window->of_longest, ticks = 0;

    for (size_t i = 0; i < count; i++) {
        double wanted;

        if (!is_call(events[i]))
            continue;
        if (events[i] >> TRACE_TIME_SHIFT != TRACE_TIME_WHOLE) {
            wanted = expected(window->times, before, call_of(events[i])) / (double)SIXTEENTHS;
            before = call_of(events[i]);
            ticks += wanted > 0 ? wanted * window->of_known : window->of_unknown;
            if (wanted >= window->longest) {
                ticks += longest;
                longest = 0;
            }
        }
        events[i] = with_time(events[i], (window->begin + (uint64_t)ticks) & TRACE_TIME_MASK);
    }
}

/* The last of these events has a time; what is before it has none. */
static void fill_until(const struct trace_times *times, const struct trace_lane_time *lane,
                       uint64_t *events, size_t count)
{
    const uint64_t end = events[count - 1] >> TRACE_TIME_SHIFT;
    struct window window = {.times = times, .before = lane->event, .begin = lane->time};

    /* What was before is not known: at the beginning, or after a loss. */
    if (lane->time == 0)
        window.begin = end;
    survey(&window, events, count);
    divide(&window, (double)passed_between(window.begin, end));
    fill_window(&window, events, count - 1);
}

void trace_times_fill(struct trace_times *times, unsigned lane_number, uint64_t *events,
                      size_t count)
{
    struct trace_lane_time *const lane = &times->lanes[lane_number];
    size_t filled = 0, calls = 0;

    for (size_t i = 0; i < count; i++) {
        if (!is_call(events[i])) {
            if (call_of(events[i]) >> 1 == TRACE_LOST)
                lane->time = 0;
            continue;
        }
        calls++;
        if (!is_timed(events[i]))
            continue;
        if (calls > 1)
            fill_until(times, lane, events + filled, i + 1 - filled);
        else if (times->seldom_count > 0 && lane->time != 0)
            learn(times, lane->event, call_of(events[i]),
                  passed_between(lane->time, events[i] >> TRACE_TIME_SHIFT));
        *lane = (struct trace_lane_time){events[i] >> TRACE_TIME_SHIFT, call_of(events[i])};
        filled = i + 1;
        calls = 0;
    }
    /* Behind the last that has one: at its time. */
    for (size_t i = filled; i < count; i++)
        if (is_call(events[i]))
            events[i] = with_time(events[i], lane->time);
}

/* ---- decisions ---- */

/* Of the chunk's events, ticks for each. */
static uint64_t pace(const uint64_t *events, size_t count)
{
    size_t first = 0, last = count;

    while (first < count && !is_call(events[first]))
        first++;
    while (last > first && !is_call(events[last - 1]))
        last--;
    if (last <= first + 1)
        return SPARSE;
    return passed_between(events[first] >> TRACE_TIME_SHIFT, events[last - 1] >> TRACE_TIME_SHIFT) /
           (last - first - 1);
}

static void set_seldom(struct trace_times *times, unsigned number, bool seldom,
                       trace_times_change *changed, void *context)
{
    times->seldom[number] = seldom;
    times->ever[number] |= seldom;
    times->calls[number] = 0;
    if (seldom)
        times->seldom_count++;
    else
        times->seldom_count--;
    changed(context, number, seldom);
}

void trace_times_decide(struct trace_times *times, const uint64_t *events, size_t count,
                        trace_times_change *changed, void *context)
{
    const uint64_t ticks = pace(events, count);

    for (size_t i = 0; i < count; i++) {
        const unsigned number = call_of(events[i]) >> 1;

        if ((events[i] & 1) != 0 || number >= times->count || times->left[number])
            continue;
        times->all[number] += times->ever[number];
        if (times->seldom[number]) {
            if (ticks >= SPARSE)
                set_seldom(times, number, false, changed, context);
        } else if (ticks < DENSE && ++times->calls[number] == CALLS_SELDOM) {
            set_seldom(times, number, true, changed, context);
        }
    }
}

/* ---- words ---- */

/* The function with the most calls of those with fewer than that; 0: none. */
static size_t next_most_called(const struct trace_times *times, uint64_t below)
{
    size_t most = 0;

    for (size_t i = 1; i < times->count; i++)
        if (times->ever[i] && times->all[i] < below &&
            (most == 0 || times->all[i] > times->all[most]))
            most = i;
    return most;
}

void trace_times_put(const struct trace_times *times, const struct patch_plan *plan,
                     struct buf *out)
{
    size_t number, shown = 0, all = 0;

    for (size_t i = 0; i < times->count; i++)
        all += times->ever[i];
    if (all == 0)
        return;
    buf_printf(out,
               "%zu functions called so often that the time of every eighth of their calls was "
               "measured, and that of the others estimated: ",
               all);
    for (uint64_t below = UINT64_MAX; shown < SHOWN; shown++, below = times->all[number]) {
        number = next_most_called(times, below);
        if (number == 0 || number > plan->count)
            break;
        buf_printf(out, "%s%s", shown > 0 ? ", " : "", plan->functions[number - 1].name);
    }
    buf_append_string(out, all > shown ? ", …" : "");
}
