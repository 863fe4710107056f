/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/events/trace_times.h"

#include <stdlib.h>

#include "trace/memory.h"

enum {
    GAPS = 1 << 14,
    SIXTEENTHS = 16,
    SHOWN = 8,
};

int trace_times_open(struct trace_times *times, unsigned lanes, struct error *error)
{
    *times = (struct trace_times){0};
    times->gaps = calloc(GAPS, sizeof *times->gaps);
    times->lanes = calloc(lanes, sizeof *times->lanes);
    times->estimated = calloc(TRACE_CONTROL, sizeof *times->estimated);
    return times->gaps != NULL && times->lanes != NULL && times->estimated != NULL
               ? 0
               : error_memory(error, "the times of a trace");
}

void trace_times_close(struct trace_times *times)
{
    free(times->gaps);
    free(times->lanes);
    free(times->estimated);
    *times = (struct trace_times){0};
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
    struct trace_times *times;
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

static void note_estimated(struct trace_times *times, uint64_t event)
{
    times->estimated[call_of(event) >> 1] += (event & 1) == 0;
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
            note_estimated(window->times, events[i]);
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
static void fill_until(struct trace_times *times, const struct trace_lane_time *lane,
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

/* Behind the last that has one: at its time. */
static void fill_behind(struct trace_times *times, const struct trace_lane_time *lane,
                        uint64_t *events, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!is_call(events[i]))
            continue;
        if (events[i] >> TRACE_TIME_SHIFT != TRACE_TIME_WHOLE)
            note_estimated(times, events[i]);
        events[i] = with_time(events[i], lane->time);
    }
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
        else if (lane->time != 0)
            learn(times, lane->event, call_of(events[i]),
                  passed_between(lane->time, events[i] >> TRACE_TIME_SHIFT));
        *lane = (struct trace_lane_time){events[i] >> TRACE_TIME_SHIFT, call_of(events[i])};
        filled = i + 1;
        calls = 0;
    }
    fill_behind(times, lane, events + filled, count - filled);
}

/* ---- words ---- */

/* The first of the functions with the most calls of those with fewer than that, or with as many and
 * a larger number; 0: none. */
static uint32_t next_most_called(const struct trace_times_words *words, uint32_t last)
{
    const uint64_t below = last > 0 ? words->calls(words->context, last) : UINT64_MAX;
    uint64_t most_calls = 0;
    uint32_t most = 0;

    for (uint32_t i = 1; i <= words->count; i++) {
        const uint64_t calls = words->calls(words->context, i);

        if (calls > most_calls && (calls < below || (calls == below && i > last))) {
            most = i;
            most_calls = calls;
        }
    }
    return most;
}

void trace_times_put(const struct trace_times_words *words, struct buf *out)
{
    size_t shown = 0, all = 0;
    uint32_t number = 0;

    for (uint32_t i = 1; i <= words->count; i++)
        all += words->calls(words->context, i) > 0;
    if (all == 0)
        return;
    buf_printf(out,
               "%zu functions called so often that the time of every eighth of their calls was "
               "measured, and that of the others estimated: ",
               all);
    for (; shown < SHOWN && (number = next_most_called(words, number)) != 0; shown++)
        buf_printf(out, "%s%s", shown > 0 ? ", " : "", words->name(words->context, number));
    buf_append_string(out, all > shown ? ", …" : "");
}
