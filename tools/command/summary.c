/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/command/summary.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "tools/command/summary_render.h"
#include "tools/input/feed.h"
#include "tools/input/file_order.h"
#include "tools/output/explain_runs.h"
#include "tools/output/output.h"
#include "tools/stats/groups.h"
#include "tools/stats/growth/growth.h"
#include "tools/stats/histogram_file.h"

struct summary {
    const struct options *options;
    struct groups groups;
    struct growth growth;
    uint64_t chosen; /* deliveries */
    uint64_t run;    /* of the kernel, as of a delivery */
};

static int summary_on_delivery(void *context, const struct model_delivery *delivery,
                               struct error *error)
{
    struct summary *summary = context;

    if (!selection_takes(&summary->options->selection, delivery))
        return 0;
    summary->chosen++;
    if (summary->options->by[GROUP_GROWTH] && growth_add(&summary->growth, delivery, error) != 0)
        return -1;
    return groups_add(&summary->groups, delivery, error);
}

static void on_phase(void *context, const struct phase_span *span)
{
    struct summary *summary = context;

    if (!selection_takes_phase(&summary->options->selection, span, summary->run))
        return;
    groups_add_phase(&summary->groups, span);
    if (summary->options->by[GROUP_GROWTH])
        growth_add_phase(&summary->growth, span);
}

static void on_note(void *context, const struct model_note *note)
{
    ((struct summary *)context)->run += note->kind == MODEL_NOTE_KERNEL;
}

/* By kind, then the one with the most time first; equals by name and label. */
static int compare_groups(const void *a, const void *b)
{
    const struct group *left = *(const struct group *const *)a;
    const struct group *right = *(const struct group *const *)b;
    uint64_t left_time = summary_time(left), right_time = summary_time(right);

    if (left->kind != right->kind)
        return left->kind < right->kind ? -1 : 1;
    if (left_time != right_time)
        return left_time > right_time ? -1 : 1;
    return strcmp(left->name, right->name) != 0 ? strcmp(left->name, right->name)
                                                : strcmp(left->label, right->label);
}

static int write_sorted(const struct summary *summary, const struct group **sorted,
                        struct error *error)
{
    const struct options *options = summary->options;
    struct summary_totals totals = summary_totals(&summary->groups);
    const struct summary_ops *ops = options->json  ? &summary_json
                                    : options->csv ? &summary_csv
                                                   : &summary_text;
    struct buf out = {0};
    int result = 0;

    if (ops->begin != NULL)
        ops->begin(&out);
    for (size_t i = 0; i < summary->groups.count && result == 0; i++) {
        if (options->by[sorted[i]->kind])
            ops->group(&out, sorted[i], &totals);
        result = output_flush_if_much(&out, error);
    }
    if (ops->growth != NULL)
        ops->growth(&out, &summary->growth);
    if (result == 0)
        result = output_flush(&out, error);
    buf_free(&out);
    return result;
}

static int write_summary(const struct summary *summary, struct error *error)
{
    size_t count = summary->groups.count;
    const struct group **sorted = calloc(count + 1, sizeof(struct group *));
    int result;

    if (sorted == NULL)
        return error_memory(error, "a summary");
    for (size_t i = 0; i < count; i++)
        sorted[i] = &summary->groups.groups[i];
    qsort(sorted, count, sizeof(struct group *), compare_groups);
    result = write_sorted(summary, sorted, error);
    free(sorted);
    if (summary->groups.spoiled > 0)
        log_line("%" PRIu64 " deliveries left out, since the clock was set within them",
                 summary->groups.spoiled);
    return result;
}

/* Shares are shares of `all`, which is therefore always collected. */
static void want_groups(struct summary *summary)
{
    for (int kind = 0; kind < GROUP_KINDS; kind++)
        summary->groups.wanted[kind] = kind == GROUP_ALL || summary->options->by[kind];
}

static int summary_finish(struct summary *summary, struct error *error)
{
    const char *path = summary->options->histograms;

    if (summary->groups.failed)
        return error_memory(error, "a summary");
    if (path != NULL && histogram_file_write(path, &summary->groups, &summary->growth, error) != 0)
        return -1;
    return write_summary(summary, error);
}

int summary_run(const struct options *options, struct error *error)
{
    struct summary summary = {.options = options, .run = 1};
    struct feed feed = {.files = options->files,
                        .strict = options->strict,
                        .jobs = options->jobs,
                        .labels = options->causes,
                        .gas = options->priced ? &options->gas : NULL,
                        .progress = true,
                        .delivery = summary_on_delivery,
                        .note = on_note,
                        .phase = on_phase,
                        .context = &summary};
    struct tally tally;
    int result;

    want_groups(&summary);
    result = feed_run(&feed, &tally, error);
    if (result == 0)
        result = summary_finish(&summary, error);
    if (result == 0)
        selection_explain_none(summary.chosen, tally.deliveries);
    if (result == 0 && !options->selection.runs.set && !options->by[GROUP_RUN])
        explain_runs(&tally.runs, NULL, "are added up");
    tally_free(&tally);
    groups_free(&summary.groups);
    growth_free(&summary.growth);
    return result;
}

/* Vats grow in the order in which their files begin. */
static int summary_merge(struct summary *summary, struct error *error)
{
    struct growth *growth = summary->options->by[GROUP_GROWTH] ? &summary->growth : NULL;
    char **files = file_order_by(summary->options->files, histogram_file_begin, error);
    int result = files != NULL ? 0 : -1;

    for (size_t i = 0; result == 0 && files[i] != NULL; i++)
        result = histogram_file_read(files[i], &summary->groups, growth, error);
    free(files);
    return result;
}

int merge_run(const struct options *options, struct error *error)
{
    struct summary summary = {.options = options};
    int result;

    want_groups(&summary);
    result = summary_merge(&summary, error);
    if (result == 0)
        result = summary_finish(&summary, error);
    groups_free(&summary.groups);
    growth_free(&summary.growth);
    return result;
}
