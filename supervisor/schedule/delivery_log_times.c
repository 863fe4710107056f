/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/schedule/delivery_log_times.h"

#include <stdlib.h>

#include "base/array.h"

/*
 * Both clocks of a stamp are read one after the other, so they drift apart by less than a
 * scheduler's time slice; a step of NTP is 128 ms and more. Nanoseconds.
 */
enum { CLOCK_STEP = 10 * 1000 * 1000 };

/* On the clock that splits the delivery, nanoseconds. */
static int64_t moment_of(struct stamp stamp, bool precise)
{
    return precise ? stamp.mono : stamp.real * 1000;
}

/* Whether the worker's stamps are of our CLOCK_MONOTONIC: those of xsnap-worker have none. */
static bool is_precise(const struct delivery_log *log, const struct delivery_log_end *end)
{
    const struct meter *meter = end->meter;

    return meter == NULL || meter->stamp_count == 0 ||
           (meter->stamps[0].mono >= log->sent.mono &&
            meter->stamps[meter->stamp_count - 1].mono <= end->returned.mono);
}

static bool clock_was_set(const struct delivery_log *log, const struct delivery_log_end *end)
{
    int64_t step =
        (end->returned.real - log->sent.real) * 1000 - (end->returned.mono - log->sent.mono);

    return step > CLOCK_STEP || step < -CLOCK_STEP;
}

static int reserve(struct delivery_log_times *times, size_t event_count, size_t stamp_count,
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

/* Splits the delivery by one of the clocks. */
static int split(struct delivery_log *log, const struct delivery_log_end *end, bool precise,
                 struct model_delivery *delivery, struct error *error)
{
    struct delivery_log_times *times = &log->times;
    size_t stamp_count = end->meter != NULL ? end->meter->stamp_count : 0;
    struct moments moments = {.sent = moment_of(log->sent, precise),
                              .returned = moment_of(end->returned, precise),
                              .stamp_count = stamp_count,
                              .event_count = log->request_count,
                              .steady = true};

    if (reserve(times, log->request_count, stamp_count, error) != 0)
        return -1;
    for (size_t i = 0; i < stamp_count; i++)
        times->stamps[i] = moment_of(end->meter->stamps[i], precise);
    for (size_t i = 0; i < log->request_count; i++)
        times->events[i] =
            (struct model_event){.arrived = moment_of(log->requests[i].come, precise),
                                 .answered = moment_of(log->requests[i].answered, precise)};
    moments.stamps = times->stamps;
    moments.events = times->events;
    return spans_build(&times->spans, &moments, delivery, error);
}

/* What is known without the worker's stamps. */
static void fill_own(const struct delivery_log *log, const struct delivery_log_end *end,
                     struct delivery_report *report)
{
    report->total = end->returned.mono - log->sent.mono;
    report->pipe = report->worker = REPORT_NONE;
    report->kernel = 0;
    for (size_t i = 0; i < log->request_count; i++)
        report->kernel += log->requests[i].answered.mono - log->requests[i].come.mono;
}

int delivery_log_times_fill(struct delivery_log *log, const struct delivery_log_end *end,
                            struct delivery_report *report, struct error *error)
{
    bool precise = is_precise(log, end);
    struct model_delivery delivery = {0};

    if (split(log, end, precise, &delivery, error) != 0)
        return -1;
    report->total = delivery.total;
    report->pipe = delivery.pipe;
    report->worker = delivery.worker;
    report->kernel = delivery.kernel;
    if (delivery.coverage == MODEL_BARE)
        return 0;
    if (delivery.coverage != MODEL_FULL || delivery.clock_changed ||
        (!precise && clock_was_set(log, end)))
        fill_own(log, end, report);
    return 0;
}

void delivery_log_times_free(struct delivery_log_times *times)
{
    free(times->events);
    free(times->stamps);
    spans_free(&times->spans);
}
