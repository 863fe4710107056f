/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/schedule/log/delivery_times.h"

#include <stdlib.h>

#include "base/array.h"

/*
 * A stamp reads its two clocks one after the other, so they differ by less than a time slice
 * of the system's scheduler; NTP steps a clock by 128 ms or more. Nanoseconds.
 */
enum { CLOCK_STEP = 10 * 1000 * 1000 };

/* Nanoseconds on the clock that the delivery is split by. */
static int64_t moment_of(struct stamp stamp, bool precise)
{
    return precise ? stamp.mono : stamp.real * 1000;
}

/* Whether the worker stamped with this host's CLOCK_MONOTONIC; xsnap-worker does not. */
static bool has_monotonic_stamps(const struct delivery_times *times, const struct delivery_end *end)
{
    const struct meter *meter = end->meter;

    return meter == NULL || meter->stamp_count == 0 ||
           (meter->stamps[0].mono >= times->sent.mono &&
            meter->stamps[meter->stamp_count - 1].mono <= end->returned.mono);
}

static bool host_clock_was_set(const struct delivery_times *times, const struct delivery_end *end)
{
    int64_t step =
        (end->returned.real - times->sent.real) * 1000 - (end->returned.mono - times->sent.mono);

    return step > CLOCK_STEP || step < -CLOCK_STEP;
}

static int reserve_scratch(struct delivery_times *times, size_t event_count, size_t stamp_count,
                           struct error *error)
{
    struct model_event *events =
        array_reserve(times->events, &times->event_capacity, event_count + 1, sizeof *events);
    int64_t *stamps;

    if (events == NULL)
        return error_memory(error, "a delivery's times");
    times->events = events;
    stamps = array_reserve(times->stamps, &times->stamp_capacity, stamp_count + 1, sizeof *stamps);
    if (stamps == NULL)
        return error_memory(error, "a delivery's times");
    times->stamps = stamps;
    return 0;
}

/* Splits the delivery by one of its clocks. */
static int split_delivery(struct delivery_times *times, const struct delivery_end *end,
                          bool precise, struct model_delivery *delivery, struct error *error)
{
    size_t stamp_count = end->meter != NULL ? end->meter->stamp_count : 0;
    struct moments moments = {.sent = moment_of(times->sent, precise),
                              .returned = moment_of(end->returned, precise),
                              .stamp_count = stamp_count,
                              .event_count = times->request_count,
                              .steady = true};

    if (reserve_scratch(times, times->request_count, stamp_count, error) != 0)
        return -1;
    for (size_t i = 0; i < stamp_count; i++)
        times->stamps[i] = moment_of(end->meter->stamps[i], precise);
    for (size_t i = 0; i < times->request_count; i++)
        times->events[i] =
            (struct model_event){.arrived = moment_of(times->requests[i].come, precise),
                                 .answered = moment_of(times->requests[i].answered, precise)};
    moments.frame_sent = moments.sent;
    moments.frame_returned = moments.returned;
    moments.stamps = times->stamps;
    moments.events = times->events;
    return spans_build(&times->spans, &moments, delivery, error);
}

/* What the supervisor knows without the worker's stamps. */
static void fill_without_worker(const struct delivery_times *times, const struct delivery_end *end,
                                struct delivery_report *report)
{
    report->total = end->returned.mono - times->sent.mono;
    report->pipe = report->worker = REPORT_NONE;
    report->kernel = times->more_kernel;
    for (size_t i = 0; i < times->request_count; i++)
        report->kernel += times->requests[i].answered.mono - times->requests[i].come.mono;
}

int delivery_times_fill(struct delivery_times *times, const struct delivery_end *end,
                        struct delivery_report *report, struct error *error)
{
    bool precise = has_monotonic_stamps(times, end);
    struct model_delivery delivery = {0};

    if (times->more > 0 && end->meter != NULL && end->meter->stamp_count > 0) {
        fill_without_worker(times, end, report);
        return 0;
    }
    if (split_delivery(times, end, precise, &delivery, error) != 0)
        return -1;
    report->total = delivery.total;
    report->pipe = delivery.pipe;
    report->worker = delivery.worker;
    report->kernel = delivery.kernel;
    if (delivery.coverage == MODEL_BARE)
        return 0;
    if (delivery.coverage != MODEL_FULL || delivery.clock_changed ||
        (!precise && host_clock_was_set(times, end)))
        fill_without_worker(times, end, report);
    return 0;
}

void delivery_times_clear(struct delivery_times *times)
{
    times->sent = (struct stamp){0};
    times->request_count = times->more = 0;
    times->more_kernel = 0;
}

int delivery_times_add(struct delivery_times *times, struct stamp come, struct stamp answered,
                       struct error *error)
{
    struct request_times *requests;

    if (times->request_count == DELIVERY_TIMES_MAX) {
        times->more++;
        times->more_kernel += answered.mono - come.mono;
        return 0;
    }
    requests = array_reserve(times->requests, &times->request_capacity, times->request_count + 1,
                             sizeof *requests);
    if (requests == NULL)
        return error_memory(error, "a request");
    times->requests = requests;
    requests[times->request_count++] = (struct request_times){come, answered};
    return 0;
}

void delivery_times_free(struct delivery_times *times)
{
    free(times->requests);
    free(times->events);
    free(times->stamps);
    spans_free(&times->spans);
}
