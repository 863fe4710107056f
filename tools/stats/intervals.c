/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/stats/intervals.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

/* The place of the number, or where it would be. Lines are mostly in order: the last is likely. */
static size_t place_of(const struct intervals *intervals, int64_t number)
{
    size_t from = 0, to = intervals->count;

    if (to > 0 && intervals->sorted[to - 1].number <= number)
        return intervals->sorted[to - 1].number == number ? to - 1 : to;
    while (from < to) {
        const size_t middle = from + (to - from) / 2;

        if (intervals->sorted[middle].number < number)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

static bool is_at(const struct intervals *intervals, size_t place, int64_t number)
{
    return place < intervals->count && intervals->sorted[place].number == number;
}

static struct interval *interval_of(struct intervals *intervals, int64_t number,
                                    struct error *error)
{
    const size_t place = place_of(intervals, number);
    struct interval *sorted;

    if (is_at(intervals, place, number))
        return &intervals->sorted[place];
    if (intervals->count == INTERVALS_MOST) {
        error_set(error, ERROR_USAGE, "--by makes more than %d rows; choose a longer interval",
                  INTERVALS_MOST);
        return NULL;
    }
    sorted = array_reserve(intervals->sorted, &intervals->capacity, intervals->count + 1,
                           sizeof *sorted);
    if (sorted == NULL) {
        error_memory(error, "a summary");
        return NULL;
    }
    intervals->sorted = sorted;
    memmove(&sorted[place + 1], &sorted[place], (intervals->count - place) * sizeof *sorted);
    sorted[place] = (struct interval){.number = number, .length = intervals->length};
    intervals->count++;
    return &sorted[place];
}

static void count_delivery(struct interval *interval, const struct model_delivery *delivery)
{
    interval->deliveries++;
    interval->failed += delivery->status == MODEL_ERROR;
    if (interval->words[0] != '\0' && delivery->total <= interval->slowest)
        return;
    interval->slowest = delivery->total;
    snprintf(interval->words, sizeof interval->words, "c%" PRId64 " %s %s", delivery->crank_num,
             delivery->vat_id, delivery->method[0] != '\0' ? delivery->method : delivery->kind);
}

/* The part that the span is of; INTERVAL_TOTAL: of none. */
static enum interval_part part_of(const struct model_delivery *delivery,
                                  const struct model_span *span)
{
    switch (span->kind) {
    case MODEL_UP:
    case MODEL_RETURN:
        return delivery->pipe != MODEL_NONE ? INTERVAL_UP : INTERVAL_TOTAL;
    case MODEL_SEND:
    case MODEL_DOWN:
        return delivery->pipe != MODEL_NONE ? INTERVAL_DOWN : INTERVAL_TOTAL;
    case MODEL_WORKER:
        return delivery->worker != MODEL_NONE ? INTERVAL_WORKER : INTERVAL_TOTAL;
    case MODEL_KERNEL:
        return delivery->kernel != MODEL_NONE ? INTERVAL_KERNEL : INTERVAL_TOTAL;
    default:
        return INTERVAL_TOTAL;
    }
}

static void add_waits(struct interval *interval, const struct model_delivery *delivery,
                      double share)
{
    interval->waits_known |= delivery->cpu_wait != MODEL_NONE;
    if (delivery->cpu_wait > 0)
        interval->parts[INTERVAL_CPU_WAIT] += (int64_t)((double)delivery->cpu_wait * share);
    if (delivery->worker_cpu_wait > 0)
        interval->parts[INTERVAL_WORKER_CPU_WAIT] +=
            (int64_t)((double)delivery->worker_cpu_wait * share);
}

/* Adds the time between two moments since the epoch to the intervals that contain it. */
static int add_time(struct intervals *intervals, const struct model_delivery *delivery,
                    enum interval_part part, int64_t from, int64_t to, struct error *error)
{
    while (from < to) {
        const int64_t number = from / intervals->length;
        const int64_t left = intervals->length - from % intervals->length;
        const int64_t taken = left < to - from ? left : to - from;
        struct interval *interval = interval_of(intervals, number, error);

        if (interval == NULL)
            return -1;
        interval->parts[part] += taken;
        if (part == INTERVAL_TOTAL)
            add_waits(interval, delivery, (double)taken / (double)delivery->total);
        from += taken;
    }
    return 0;
}

static int add_by_time(struct intervals *intervals, const struct model_delivery *delivery,
                       struct error *error)
{
    const int64_t offset = delivery->start - delivery->sent;
    struct interval *interval = interval_of(intervals, delivery->start / intervals->length, error);

    if (interval == NULL)
        return -1;
    count_delivery(interval, delivery);
    for (size_t i = 0; i < delivery->span_count; i++) {
        const struct model_span *span = &delivery->spans[i];
        const enum interval_part part = part_of(delivery, span);

        if (part != INTERVAL_TOTAL &&
            add_time(intervals, delivery, part, span->from + offset, span->to + offset, error) != 0)
            return -1;
    }
    return add_time(intervals, delivery, INTERVAL_TOTAL, delivery->start,
                    delivery->start + delivery->total, error);
}

static int add_by_block(struct intervals *intervals, const struct model_delivery *delivery,
                        struct error *error)
{
    struct interval *interval;

    if (delivery->block_height == MODEL_NONE) {
        intervals->without_block++;
        return 0;
    }
    interval = interval_of(intervals, delivery->block_height, error);
    if (interval == NULL)
        return -1;
    count_delivery(interval, delivery);
    for (size_t i = 0; i < delivery->span_count; i++) {
        const enum interval_part part = part_of(delivery, &delivery->spans[i]);

        if (part != INTERVAL_TOTAL)
            interval->parts[part] += delivery->spans[i].to - delivery->spans[i].from;
    }
    interval->parts[INTERVAL_TOTAL] += delivery->total;
    add_waits(interval, delivery, 1);
    return 0;
}

int intervals_add(struct intervals *intervals, const struct model_delivery *delivery,
                  struct error *error)
{
    if (delivery->replay || delivery->clock_changed || delivery->total == MODEL_NONE ||
        delivery->start < 0)
        return 0;
    return intervals->length > 0 ? add_by_time(intervals, delivery, error)
                                 : add_by_block(intervals, delivery, error);
}

void intervals_add_block(struct intervals *intervals, const struct phase_block *block)
{
    const size_t place = place_of(intervals, block->height);

    if (is_at(intervals, place, block->height))
        intervals->sorted[place].length += block->total;
}

int64_t interval_unattributed(const struct interval *interval)
{
    const int64_t known = interval->parts[INTERVAL_UP] + interval->parts[INTERVAL_DOWN] +
                          interval->parts[INTERVAL_WORKER] + interval->parts[INTERVAL_KERNEL];

    return interval->parts[INTERVAL_TOTAL] > known ? interval->parts[INTERVAL_TOTAL] - known : 0;
}

void intervals_free(struct intervals *intervals)
{
    free(intervals->sorted);
    *intervals = (struct intervals){0};
}
