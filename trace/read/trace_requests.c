/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/read/trace_requests.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"

struct request_lane {
    bool open;
    struct traced_request request; /* if open */
    uint64_t nested;               /* calls of its function within it */
    uint32_t function;             /* whose arguments came last */
    uint64_t low, arguments[TRACE_ARGUMENTS_MAX];
    unsigned argument_count;
};

struct request_arrival {
    uint64_t id, time;
    bool taken;
};

static int requests_memory(struct error *error)
{
    return error_memory(error, "the requests of a trace");
}

void trace_value_words(char words[TRACE_VALUE_WORDS], uint64_t value)
{
    if (value <= UINT32_MAX || value >= (uint64_t)INT32_MIN)
        snprintf(words, TRACE_VALUE_WORDS, "%" PRId64, (int64_t)value);
    else
        snprintf(words, TRACE_VALUE_WORDS, "0x%" PRIx64, value);
}

/* ---- marks ---- */

static int bad_marks(struct error *error)
{
    return error_set(error, ERROR_INPUT, "a block of the trace has no marks of requests");
}

static int take_numbers(const json_t *numbers, size_t functions, uint32_t **list, size_t *count,
                        struct error *error)
{
    *count = json_array_size(numbers);
    *list = calloc(*count + 1, sizeof **list);
    if (*list == NULL)
        return requests_memory(error);
    for (size_t i = 0; i < *count; i++) {
        const json_int_t number = json_integer_value(json_array_get(numbers, i));

        if (number < 1 || (uint64_t)number > functions)
            return bad_marks(error);
        (*list)[i] = (uint32_t)number;
    }
    return 0;
}

int request_finder_open(struct request_finder *finder, const json_t *content, size_t functions,
                        struct error *error)
{
    struct request_marks *const marks = &finder->marks;
    const json_int_t begin = json_integer_value(json_object_get(content, "beginArgument"));
    const json_int_t end = json_integer_value(json_object_get(content, "endArgument"));

    if (marks->known || begin < 1 || begin > TRACE_ARGUMENTS_MAX || end < 0 ||
        end > TRACE_ARGUMENTS_MAX)
        return bad_marks(error);
    marks->known = true;
    marks->begin_argument = (unsigned)begin;
    marks->end_argument = (unsigned)end;
    if (take_numbers(json_object_get(content, "begin"), functions, &marks->begins,
                     &marks->begin_count, error) != 0)
        return -1;
    return take_numbers(json_object_get(content, "end"), functions, &marks->ends, &marks->end_count,
                        error);
}

void request_finder_close(struct request_finder *finder)
{
    free(finder->marks.begins);
    free(finder->marks.ends);
    free(finder->lanes);
    free(finder->arrivals);
    free(finder->requests);
    *finder = (struct request_finder){0};
}

static bool is_among(const uint32_t *numbers, size_t count, uint32_t function)
{
    for (size_t i = 0; i < count; i++)
        if (numbers[i] == function)
            return true;
    return false;
}

/* ---- events ---- */

static int add_arrival(struct request_finder *finder, uint64_t id, uint64_t time,
                       struct error *error)
{
    struct request_arrival *const arrivals = array_reserve(
        finder->arrivals, &finder->arrival_capacity, finder->arrival_count + 1, sizeof *arrivals);

    if (arrivals == NULL)
        return requests_memory(error);
    finder->arrivals = arrivals;
    arrivals[finder->arrival_count++] = (struct request_arrival){.id = id, .time = time};
    return 0;
}

static int end_request(struct request_finder *finder, struct request_lane *lane, uint64_t time,
                       struct error *error)
{
    struct traced_request *const requests = array_reserve(
        finder->requests, &finder->request_capacity, finder->request_count + 1, sizeof *requests);

    if (requests == NULL)
        return requests_memory(error);
    finder->requests = requests;
    lane->open = false;
    lane->request.end = time;
    requests[finder->request_count++] = lane->request;
    return 0;
}

/* The argument of the function that is entered. False: unknown, as its events were lost. */
static bool take_id(const struct request_lane *lane, uint32_t function, unsigned argument,
                    uint64_t *id)
{
    if (lane->function != function || lane->argument_count < argument)
        return false;
    *id = lane->arguments[argument - 1];
    return true;
}

/* A request's function is entered. `same`: calls of the same function end the request. */
static int begin_request(struct request_finder *finder, struct request_lane *lane,
                         struct traced_request request, bool same, struct error *error)
{
    if (lane->open && (same || lane->request.id == request.id)) {
        lane->nested += same;
        return 0;
    }
    if (lane->open && end_request(finder, lane, request.begin, error) != 0)
        return -1;
    lane->open = true;
    lane->nested = 0;
    lane->request = request;
    return 0;
}

static int request_enter(struct request_finder *finder, struct request_lane *lane,
                         struct traced_request request, struct error *error)
{
    const struct request_marks *const marks = &finder->marks;
    const bool begins = is_among(marks->begins, marks->begin_count, request.function);
    const bool ends = is_among(marks->ends, marks->end_count, request.function);

    if (marks->end_argument == 0)
        return begins && take_id(lane, request.function, marks->begin_argument, &request.id)
                   ? begin_request(finder, lane, request, ends, error)
                   : 0;
    if (begins && take_id(lane, request.function, marks->begin_argument, &request.id) &&
        add_arrival(finder, request.id, request.begin, error) != 0)
        return -1;
    return ends && take_id(lane, request.function, marks->end_argument, &request.id)
               ? begin_request(finder, lane, request, true, error)
               : 0;
}

static int request_leave(struct request_finder *finder, struct request_lane *lane,
                         uint32_t function, uint64_t time, struct error *error)
{
    if (!lane->open || !is_among(finder->marks.ends, finder->marks.end_count, function))
        return 0;
    if (lane->nested == 0)
        return end_request(finder, lane, time, error);
    lane->nested--;
    return 0;
}

static void take_request_value(struct request_lane *lane, uint64_t argument)
{
    const uint32_t function = (uint32_t)(argument >> TRACE_VALUE_FUNCTION_SHIFT) & 0x7fff;
    const unsigned which = argument >> TRACE_VALUE_WHICH_SHIFT & 15;

    if (which == 1)
        lane->argument_count = 0;
    if (which != lane->argument_count + 1 || which > TRACE_ARGUMENTS_MAX)
        return;
    lane->function = function;
    lane->arguments[lane->argument_count++] = argument << 48 | lane->low;
}

static int add_request_event(struct request_finder *finder, const struct trace_lane_events *of,
                             uint64_t event, struct error *error)
{
    struct request_lane *const lane = &finder->lanes[of->lane];
    const uint32_t number = event >> 1 & 0x7fff;
    const uint64_t argument = event >> TRACE_TIME_SHIFT;

    if (number == TRACE_VALUE)
        lane->low = argument;
    else if (number == TRACE_VALUE_OF)
        take_request_value(lane, argument);
    else if (number == TRACE_LOST)
        lane->open = false;
    else if (number < TRACE_CONTROL && (event & 1) != 0)
        return request_leave(finder, lane, number, argument, error);
    else if (number < TRACE_CONTROL)
        return request_enter(finder, lane,
                             (struct traced_request){.thread = of->thread,
                                                     .lane = of->lane,
                                                     .function = number,
                                                     .arrived = argument,
                                                     .begin = argument},
                             error);
    return 0;
}

int request_finder_add(struct request_finder *finder, const struct trace_lane_events *events,
                       struct error *error)
{
    if (finder->lanes == NULL)
        finder->lanes = calloc(TRACE_LANES_MAX, sizeof *finder->lanes);
    if (finder->lanes == NULL)
        return requests_memory(error);
    for (size_t i = 0; i < events->count; i++)
        if (add_request_event(finder, events, events->events[i], error) != 0)
            return -1;
    return 0;
}

void request_finder_end_lane(struct request_finder *finder, unsigned lane)
{
    if (finder->lanes != NULL)
        finder->lanes[lane].open = false;
}

/* ---- arrivals ---- */

static int by_arrival(const void *a, const void *b)
{
    const struct request_arrival *const x = a, *const y = b;

    if (x->id != y->id)
        return x->id < y->id ? -1 : 1;
    return x->time < y->time ? -1 : x->time > y->time;
}

static int by_request_begin(const void *a, const void *b)
{
    const struct traced_request *const x = a, *const y = b;

    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    return x->lane < y->lane ? -1 : x->lane > y->lane;
}

/* The first arrival of this identifier. */
static size_t first_arrival(const struct request_finder *finder, uint64_t id)
{
    size_t low = 0, high = finder->arrival_count;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (finder->arrivals[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Requests with the same identifier are worked on in the order in which they arrived. */
void request_finder_settle(struct request_finder *finder)
{
    if (finder->arrival_count > 0)
        qsort(finder->arrivals, finder->arrival_count, sizeof *finder->arrivals, by_arrival);
    if (finder->request_count > 0)
        qsort(finder->requests, finder->request_count, sizeof *finder->requests, by_request_begin);
    for (size_t i = 0; i < finder->request_count; i++) {
        struct traced_request *const request = &finder->requests[i];
        size_t at = first_arrival(finder, request->id);

        while (at < finder->arrival_count && finder->arrivals[at].id == request->id &&
               finder->arrivals[at].taken)
            at++;
        if (at == finder->arrival_count || finder->arrivals[at].id != request->id ||
            finder->arrivals[at].time > request->begin)
            continue;
        finder->arrivals[at].taken = true;
        request->arrived = finder->arrivals[at].time;
    }
}
