/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/command/waits/waits.h"

#include <stdlib.h>

#include "base/log.h"
#include "tools/command/waits/waits_render.h"
#include "tools/input/feed.h"
#include "tools/output/output.h"

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
    struct feed feed = {.files = options->files,
                        .strict = options->strict,
                        .jobs = options->jobs,
                        .progress = true,
                        .labels = true,
                        .delivery = waits_on_delivery,
                        .context = &reading};
    struct tally tally;
    int result = feed_run(&feed, &tally, error);

    if (result == 0)
        selection_explain_none(reading.chosen, tally.deliveries);
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

/* Pointers to all deliveries in an order; to be freed. NULL without memory. */
static const struct wait_delivery **sort(const struct wait_sums *sums,
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
    const struct wait_delivery **const handers = sort(report->sums, by_handed);
    const struct wait_delivery **const waiters = sort(report->sums, by_waited);
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
