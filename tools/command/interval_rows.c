/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/command/interval_rows.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/json/json_member.h"
#include "base/json/json_text.h"
#include "tools/output/output.h"

enum { MOMENT_WIDTH = 26, PART_WIDTH = 10 };

/* Calls `row` for each interval, and for each gap between two with the gap as an interval of 0. */
static void for_each_row(struct buf *out, const struct intervals *intervals,
                         void (*row)(struct buf *out, const struct interval *interval,
                                     int64_t start))
{
    for (size_t i = 0; i < intervals->count; i++) {
        const struct interval *interval = &intervals->sorted[i];
        const int64_t before = i > 0 ? interval[-1].number + 1 : interval->number;

        if (intervals->length > 0 && before < interval->number) {
            const struct interval gap = {.number = before,
                                         .length = (interval->number - before) * intervals->length};

            row(out, &gap, before * intervals->length);
        }
        row(out, interval, intervals->length > 0 ? interval->number * intervals->length : -1);
    }
}

/* ---- text --------------------------------------------------------------- */

/* As --since takes it; intervals are no shorter than a millisecond. */
static void append_start(struct buf *out, int64_t nanoseconds)
{
    const time_t seconds = nanoseconds / 1000000000;
    const int milliseconds = (int)(nanoseconds / 1000000 % 1000);
    struct tm date;
    char text[64], fraction[16] = "";

    if (gmtime_r(&seconds, &date) == NULL ||
        strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &date) == 0)
        snprintf(text, sizeof text, "%" PRId64, (int64_t)seconds);
    if (milliseconds > 0)
        snprintf(fraction, sizeof fraction, ".%03d", milliseconds);
    buf_printf(out, "%s%sZ%*s", text, fraction,
               (int)(MOMENT_WIDTH - strlen(text) - strlen(fraction)) - 1, "");
}

static void append_busy(struct buf *out, const struct interval *interval)
{
    if (interval->length > 0)
        buf_printf(out, "%7.1f %%",
                   100 * (double)interval->parts[INTERVAL_TOTAL] / (double)interval->length);
    else
        buf_printf(out, "%9s", "-");
}

static void text_interval(struct buf *out, const struct interval *interval, int64_t start)
{
    const int64_t *parts = interval->parts;

    if (start >= 0)
        append_start(out, start);
    else
        buf_printf(out, "block %-*" PRId64, MOMENT_WIDTH - 6, interval->number);
    if (interval->deliveries == 0 && parts[INTERVAL_TOTAL] == 0) {
        buf_append_string(out, "no deliveries for ");
        units_pad_time(out, interval->length, 0);
        buf_append_byte(out, '\n');
        return;
    }
    buf_printf(out, "%7" PRIu64 "%7" PRIu64, interval->deliveries, interval->failed);
    append_busy(out, interval);
    units_pad_time(out, parts[INTERVAL_TOTAL], PART_WIDTH);
    units_pad_time(out, parts[INTERVAL_UP] + parts[INTERVAL_DOWN], PART_WIDTH);
    if (interval->waits_known)
        units_pad_time(out, parts[INTERVAL_CPU_WAIT] + parts[INTERVAL_WORKER_CPU_WAIT], PART_WIDTH);
    else
        units_pad(out, "-", PART_WIDTH);
    units_pad_time(out, parts[INTERVAL_WORKER], PART_WIDTH);
    units_pad_time(out, parts[INTERVAL_KERNEL], PART_WIDTH);
    units_pad_time(out, interval_unattributed(interval), PART_WIDTH);
    if (interval->deliveries > 0) {
        units_pad_time(out, interval->slowest, PART_WIDTH);
        buf_printf(out, "  %s", interval->words);
    }
    buf_append_byte(out, '\n');
}

void interval_rows_text(struct buf *out, const struct intervals *intervals)
{
    if (intervals->count == 0)
        return;
    buf_printf(out,
               "%-*sdeliv. failed     busy     total      pipe  CPU wait    worker    kernel"
               "  unattr.   slowest\n",
               MOMENT_WIDTH + 1, intervals->length > 0 ? "from" : "block");
    for_each_row(out, intervals, text_interval);
}

/* MODEL_NONE if no delivery says it. */
static int64_t part_or_none(const struct interval *interval, enum interval_part part)
{
    const bool wait = part == INTERVAL_CPU_WAIT || part == INTERVAL_WORKER_CPU_WAIT;

    return wait && !interval->waits_known ? MODEL_NONE : interval->parts[part];
}

/* ---- JSON and CSV ------------------------------------------------------- */

static const struct {
    const char *name;
    enum interval_part part;
} members[] = {{"total", INTERVAL_TOTAL},
               {"up", INTERVAL_UP},
               {"down", INTERVAL_DOWN},
               {"worker", INTERVAL_WORKER},
               {"kernel", INTERVAL_KERNEL},
               {"cpuWait", INTERVAL_CPU_WAIT},
               {"workerCpuWait", INTERVAL_WORKER_CPU_WAIT}};

enum { MEMBERS = sizeof members / sizeof *members };

static void json_interval(struct buf *out, const struct interval *interval, int64_t start)
{
    buf_append_string(out, "{\"kind\":\"interval\"");
    if (start >= 0)
        json_member_seconds(out, "start", start);
    else
        json_member_integer(out, "blockHeight", interval->number);
    json_member_seconds(out, "length", interval->length > 0 ? interval->length : MODEL_NONE);
    json_member_integer(out, "deliveries", (int64_t)interval->deliveries);
    json_member_integer(out, "failed", (int64_t)interval->failed);
    for (size_t i = 0; i < MEMBERS; i++)
        json_member_seconds(out, members[i].name, part_or_none(interval, members[i].part));
    json_member_seconds(out, "unattributed", interval_unattributed(interval));
    json_member_seconds(out, "slowest", interval->deliveries > 0 ? interval->slowest : MODEL_NONE);
    json_member_text_or_null(out, "slowestDelivery", interval->words);
    buf_append(out, "}\n", 2);
}

void interval_rows_json(struct buf *out, const struct intervals *intervals)
{
    for_each_row(out, intervals, json_interval);
}

static void csv_interval(struct buf *out, const struct interval *interval, int64_t start)
{
    if (start >= 0)
        json_text_nanoseconds(out, start);
    else
        buf_printf(out, "%" PRId64, interval->number);
    buf_append_byte(out, ',');
    if (interval->length > 0)
        json_text_nanoseconds(out, interval->length);
    buf_printf(out, ",%" PRIu64 ",%" PRIu64, interval->deliveries, interval->failed);
    for (size_t i = 0; i < MEMBERS; i++) {
        buf_append_byte(out, ',');
        if (part_or_none(interval, members[i].part) != MODEL_NONE)
            json_text_nanoseconds(out, interval->parts[members[i].part]);
    }
    buf_append_byte(out, ',');
    json_text_nanoseconds(out, interval_unattributed(interval));
    buf_append_byte(out, ',');
    if (interval->deliveries > 0)
        json_text_nanoseconds(out, interval->slowest);
    buf_append_byte(out, ',');
    units_csv_text(out, interval->words);
    buf_append(out, "\r\n", 2);
}

void interval_rows_csv(struct buf *out, const struct intervals *intervals)
{
    buf_append_string(out, intervals->length > 0 ? "start" : "blockHeight");
    buf_append_string(out, ",length,deliveries,failed");
    for (size_t i = 0; i < MEMBERS; i++)
        buf_printf(out, ",%s", members[i].name);
    buf_append_string(out, ",unattributed,slowest,slowestDelivery\r\n");
    for_each_row(out, intervals, csv_interval);
}
