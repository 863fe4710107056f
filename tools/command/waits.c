/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/json/json_member.h"
#include "base/json/json_text.h"
#include "base/log.h"
#include "base/text/format.h"
#include "tools/command/commands.h"
#include "tools/command/wait_sums.h"
#include "tools/input/feed.h"
#include "tools/output/output.h"

/* Everything borrowed. */
struct waits_report {
    const struct wait_sums *sums;           /* computed */
    const struct wait_functions *functions; /* computed; empty without a profile */
    const struct wait_delivery **handers;   /* all deliveries, the most delay passed on first */
    const struct wait_delivery **waiters;   /* all deliveries, the longest wait first */
    size_t most;                            /* shown of each */
};

enum { COLUMN = 11, PARTS_SHOWN = 3 };

static void waits_text_append_name(struct buf *out, const struct wait_sums *sums,
                                   const struct wait_delivery *delivery)
{
    buf_printf(out, "  %s delivery %" PRId64 " ", names_text(&sums->vats, delivery->vat),
               delivery->delivery_num);
    buf_append_string(out, names_text(&sums->words, delivery->words));
    buf_append_byte(out, '\n');
}

static void waits_text_append_sums(struct buf *out, const struct wait_sums *sums)
{
    char waited[UNITS_SIZE], each[UNITS_SIZE];

    units_time(waited, (uint64_t)sums->waited);
    units_time(each, (uint64_t)sums->waited / sums->waiters);
    buf_printf(out,
               "%" PRIu64 " %s waited %s in the queue in all, %s each; for %.1f %% of it "
               "others ran\n",
               sums->waiters, format_plural(sums->waiters, "delivery", "deliveries"), waited, each,
               100 * (double)sums->handed / (double)sums->waited);
}

static void append_parts(struct buf *out, const struct waits_report *report,
                         const struct wait_delivery *delivery)
{
    size_t count;
    const struct wait_part *const parts =
        wait_functions_of(report->functions, (size_t)(delivery - report->sums->deliveries), &count);

    for (size_t i = 0; i < count && i < PARTS_SHOWN; i++)
        buf_printf(out, "%*s%6.1f %%  %s\n", 3 * COLUMN + 2, "", 100 * parts[i].share,
                   names_text(&report->functions->names, parts[i].function));
}

static void append_handers(struct buf *out, const struct waits_report *report)
{
    buf_append_string(out, "\nwhich made others wait:\n");
    units_pad(out, "handed on", COLUMN);
    units_pad(out, "to", COLUMN);
    units_pad(out, "took itself", COLUMN + 1);
    buf_append_string(out, "  delivery\n");
    for (size_t i = 0; i < report->sums->count && i < report->most; i++) {
        const struct wait_delivery *const delivery = report->handers[i];

        if (delivery->handed == 0)
            return;
        units_pad_time(out, delivery->handed, COLUMN);
        buf_printf(out, "%*" PRIu64 " ", COLUMN, delivery->waiting);
        units_pad_time(out, delivery->total, COLUMN);
        waits_text_append_name(out, report->sums, delivery);
        append_parts(out, report, delivery);
    }
}

static void waits_text_append_functions(struct buf *out, const struct waits_report *report)
{
    const struct wait_functions *const functions = report->functions;

    if (functions->count == 0)
        return;
    buf_printf(out, "\nin which functions, as the profile splits these deliveries by %s:\n",
               cost_unit_names[functions->unit]);
    for (size_t i = 0; i < functions->function_count && i < report->most; i++) {
        const struct wait_function *const function = &functions->functions[i];

        if (function->handed < 1)
            return;
        units_pad_time(out, (int64_t)function->handed, COLUMN);
        buf_printf(out, "%7.1f %%  %s\n", 100 * function->handed / (double)report->sums->handed,
                   names_text(&functions->names, function->name));
    }
}

static void append_waiters(struct buf *out, const struct waits_report *report)
{
    buf_append_string(out, "\nwhich waited longest, and what ran longest meanwhile:\n");
    for (size_t i = 0; i < report->sums->count && i < report->most; i++) {
        const struct wait_delivery *const waiter = report->waiters[i];
        struct wait_meanwhile others;

        if (waiter->waited == 0)
            return;
        units_pad_time(out, waiter->waited, COLUMN);
        waits_text_append_name(out, report->sums, waiter);
        others = wait_find_meanwhile(report->sums, waiter);
        for (size_t other = 0; other < others.count; other++) {
            buf_printf(out, "%*s", COLUMN, "");
            units_pad_time(out, others.times[other], COLUMN);
            waits_text_append_name(out, report->sums, others.deliveries[other]);
        }
    }
}

static void waits_render_text(struct buf *out, const struct waits_report *report)
{
    if (report->sums->waiters == 0) {
        buf_append_string(out, "no delivery is known to have waited\n");
        return;
    }
    waits_text_append_sums(out, report->sums);
    append_handers(out, report);
    waits_text_append_functions(out, report);
    append_waiters(out, report);
}

/* `separator` precedes it, such as a kind. */
static void put_wait_delivery(struct buf *out, const char *separator, const struct wait_sums *sums,
                              const struct wait_delivery *delivery)
{
    const char *const vat = names_text(&sums->vats, delivery->vat);

    buf_printf(out, "%s\"vatID\":", separator);
    json_text_string(out, vat, strlen(vat));
    buf_printf(out, ",\"deliveryNum\":%" PRId64, delivery->delivery_num);
    json_member_text(out, "description", names_text(&sums->words, delivery->words));
}

static void put_wait_parts(struct buf *out, const struct waits_report *report,
                           const struct wait_delivery *delivery)
{
    size_t count;
    const struct wait_part *const parts =
        wait_functions_of(report->functions, (size_t)(delivery - report->sums->deliveries), &count);

    buf_append_string(out, ",\"functions\":[");
    for (size_t i = 0; i < count; i++) {
        const char *const name = names_text(&report->functions->names, parts[i].function);

        buf_append_string(out, i > 0 ? ",{\"function\":" : "{\"function\":");
        json_text_string(out, name, strlen(name));
        buf_printf(out, ",\"share\":%.6f}", parts[i].share);
    }
    buf_append_byte(out, ']');
}

static void put_handers(struct buf *out, const struct waits_report *report)
{
    for (size_t i = 0; i < report->sums->count && i < report->most; i++) {
        const struct wait_delivery *const delivery = report->handers[i];

        if (delivery->handed == 0)
            return;
        put_wait_delivery(out, "{\"kind\":\"handed\",", report->sums, delivery);
        json_member_seconds(out, "total", delivery->total);
        json_member_seconds(out, "handed", delivery->handed);
        buf_printf(out, ",\"to\":%" PRIu64, delivery->waiting);
        put_wait_parts(out, report, delivery);
        buf_append_string(out, "}\n");
    }
}

static void waits_json_put_functions(struct buf *out, const struct waits_report *report)
{
    const struct wait_functions *const functions = report->functions;

    for (size_t i = 0; i < functions->function_count && i < report->most; i++) {
        buf_append_string(out, "{\"kind\":\"function\"");
        json_member_text(out, "function",
                         names_text(&functions->names, functions->functions[i].name));
        json_member_seconds(out, "handed", (int64_t)(functions->functions[i].handed + 0.5));
        json_member_text(out, "by", cost_unit_names[functions->unit]);
        buf_append_string(out, "}\n");
    }
}

static void put_waiters(struct buf *out, const struct waits_report *report)
{
    for (size_t i = 0; i < report->sums->count && i < report->most; i++) {
        const struct wait_delivery *const waiter = report->waiters[i];
        struct wait_meanwhile others;

        if (waiter->waited == 0)
            return;
        put_wait_delivery(out, "{\"kind\":\"wait\",", report->sums, waiter);
        json_member_seconds(out, "queued", waiter->waited);
        buf_append_string(out, ",\"behind\":[");
        others = wait_find_meanwhile(report->sums, waiter);
        for (size_t other = 0; other < others.count; other++) {
            put_wait_delivery(out, other > 0 ? ",{" : "{", report->sums, others.deliveries[other]);
            json_member_seconds(out, "time", others.times[other]);
            buf_append_byte(out, '}');
        }
        buf_append_string(out, "]}\n");
    }
}

static void waits_render_json(struct buf *out, const struct waits_report *report)
{
    put_handers(out, report);
    waits_json_put_functions(out, report);
    put_waiters(out, report);
    buf_printf(out, "{\"kind\":\"waits\",\"deliveries\":%zu,\"waited\":%" PRIu64,
               report->sums->count, report->sums->waiters);
    json_member_seconds(out, "queued", report->sums->waited);
    json_member_seconds(out, "handed", report->sums->handed);
    buf_append_string(out, "}\n");
}

enum { SHOWN = 20 };

struct reading {
    const struct options *options;
    struct wait_sums *sums;
    uint64_t chosen;
};

static int waits_on_delivery(void *context, const struct model_delivery *delivery,
                             struct error *error)
{
    struct reading *const reading = context;
    const bool wanted = selection_takes(&reading->options->selection, delivery);

    reading->chosen += wanted;
    return wait_sums_add(reading->sums, delivery, wanted, error);
}

static int waits_read(const struct options *options, struct wait_sums *sums, struct error *error)
{
    struct reading reading = {.options = options, .sums = sums};
    struct feed feed = options_feed(options);
    struct tally tally;
    int result;

    feed.labels = true;
    feed.sink = (struct model_sink){.delivery = waits_on_delivery, .context = &reading};
    result = feed_run(&feed, &tally, error);
    if (result == 0)
        selection_explain(&options->selection, reading.chosen, tally.totals.deliveries);
    tally_free(&tally);
    return result == 0 ? wait_sums_compute(sums, error) : -1;
}

static int read_profiles(const struct options *options, struct waits_report *report,
                         struct wait_functions *functions, struct error *error)
{
    for (size_t i = 0; i < options->profiles.count; i++)
        if (wait_functions_read(functions, report->sums, options->profiles.items[i], error) != 0)
            return -1;
    if (functions->strangers > 0 && functions->count == 0)
        log_line("no delivery of the profile is in the slogfile");
    return wait_functions_compute(functions, report->sums, error);
}

/* ---- orders ---- */

static int by_handed(const void *a, const void *b)
{
    const struct wait_delivery *const x = *(const struct wait_delivery *const *)a;
    const struct wait_delivery *const y = *(const struct wait_delivery *const *)b;

    if (x->handed != y->handed)
        return x->handed > y->handed ? -1 : 1;
    return x < y ? -1 : x > y;
}

static int by_waited(const void *a, const void *b)
{
    const struct wait_delivery *const x = *(const struct wait_delivery *const *)a;
    const struct wait_delivery *const y = *(const struct wait_delivery *const *)b;

    if (x->waited != y->waited)
        return x->waited > y->waited ? -1 : 1;
    return x < y ? -1 : x > y;
}

/* Sorted pointers to all deliveries, to be freed. NULL when out of memory. */
static const struct wait_delivery **sort_waits(const struct wait_sums *sums,
                                               int (*compare)(const void *, const void *))
{
    const struct wait_delivery **const sorted = calloc(sums->count + 1, sizeof *sorted);

    for (size_t i = 0; sorted != NULL && i < sums->count; i++)
        sorted[i] = &sums->deliveries[i];
    if (sorted != NULL)
        qsort(sorted, sums->count, sizeof *sorted, compare);
    return sorted;
}

static int waits_write(const struct options *options, struct waits_report *report,
                       struct error *error)
{
    const struct wait_delivery **const handers = sort_waits(report->sums, by_handed);
    const struct wait_delivery **const waiters = sort_waits(report->sums, by_waited);
    struct buf out = {0};
    int result;

    if (handers == NULL || waiters == NULL) {
        result = error_memory(error, "the deliveries that wait");
    } else {
        report->handers = handers;
        report->waiters = waiters;
        (options->json ? waits_render_json : waits_render_text)(&out, report);
        result = output_flush(&out, error);
    }
    buf_free(&out);
    free(handers);
    free(waiters);
    return result;
}

int waits_run(const struct options *options, struct error *error)
{
    struct wait_sums sums = {0};
    struct wait_functions functions = {0};
    struct waits_report report = {
        .sums = &sums, .functions = &functions, .most = options->top > 0 ? options->top : SHOWN};
    int result = waits_read(options, &sums, error);

    if (result == 0)
        result = read_profiles(options, &report, &functions, error);
    if (result == 0)
        result = waits_write(options, &report, error);
    wait_functions_free(&functions);
    wait_sums_free(&sums);
    return result;
}
