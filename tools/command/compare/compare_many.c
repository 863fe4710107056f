/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/command/compare/compare_many.h"

#include <stdlib.h>

#include "base/array.h"
#include "tools/command/compare/compare_many_render.h"
#include "tools/input/feed.h"
#include "tools/output/explain_runs.h"
#include "tools/output/output.h"

/* How many slow deliveries are named unless --top says so. */
enum { SLOW_SHOWN = 20 };

struct reading {
    const struct options *options;
    struct crowd *crowd;
    size_t file;
};

static int compare_many_on_delivery(void *context, const struct model_delivery *delivery,
                                    struct error *error)
{
    struct reading *reading = context;

    if (!selection_takes(&reading->options->selection, delivery))
        return 0;
    return crowd_add(reading->crowd, reading->file, delivery, error);
}

static int read_file(const struct options *options, struct crowd *crowd, size_t number,
                     struct error *error)
{
    struct reading reading = {.options = options, .crowd = crowd, .file = number};
    char *files[] = {options->files[number], NULL};
    struct feed feed = {.files = files,
                        .strict = options->strict,
                        .jobs = options->jobs,
                        .progress = true,
                        .labels = true, /* with them comes the digest of all syscalls */
                        .delivery = compare_many_on_delivery,
                        .context = &reading};
    struct tally tally;
    int result = feed_run(&feed, &tally, error);

    if (result == 0 && !options->selection.runs.set)
        explain_runs(&tally.runs, options->files[number],
                     "are in it, and of deliveries of one number the last counts");
    tally_free(&tally);
    return result;
}

/* The one that lost most first; equals in the order of their coming. */
static int compare_excess(const void *a, const void *b)
{
    const struct slow *left = a, *right = b;

    if (left->excess != right->excess)
        return left->excess > right->excess ? -1 : 1;
    return left->delivery < right->delivery ? -1 : left->delivery > right->delivery;
}

/* In each delivery, the file that lost most. */
static int find_slow(struct crowd_report *report, struct error *error)
{
    const struct crowd *crowd = report->crowd;

    report->slow = calloc(crowd->count + 1, sizeof *report->slow);
    if (report->slow == NULL)
        return error_memory(error, "the deliveries to compare");
    for (size_t i = 0; i < crowd->count; i++) {
        struct slow slow = {.delivery = i};

        for (size_t file = 0; file < crowd->file_count; file++) {
            double excess = crowd_excess(crowd, i, file);

            if (excess > slow.excess) {
                slow.excess = excess;
                slow.file = file;
            }
        }
        if (slow.excess > 0)
            report->slow[report->slow_count++] = slow;
    }
    qsort(report->slow, report->slow_count, sizeof *report->slow, compare_excess);
    if (report->slow_count > report->slow_most)
        report->slow_count = report->slow_most;
    return 0;
}

static void count_differing(struct crowd_report *report)
{
    const struct crowd *crowd = report->crowd;

    for (size_t i = 0; i < crowd->count; i++) {
        bool differs = false;

        for (size_t file = 0; file < crowd->file_count; file++)
            differs |= crowd_differences(crowd, i, file) != 0;
        report->differing += differs;
    }
}

/* The slowest file first; few enough to be put in order one by one. */
static void rank_files(struct crowd_report *report)
{
    const struct crowd_file *files = report->crowd->files;

    for (size_t i = 0; i < report->crowd->file_count; i++) {
        size_t at = i;

        for (; at > 0 && files[report->rank[at - 1]].sums[PAIR_TOTAL] < files[i].sums[PAIR_TOTAL];
             at--)
            report->rank[at] = report->rank[at - 1];
        report->rank[at] = i;
    }
}

static int write_report(struct crowd_report *report, bool json, struct error *error)
{
    struct buf out = {0};
    int result;

    if (find_slow(report, error) != 0)
        return -1;
    count_differing(report);
    rank_files(report);
    result = (json ? compare_many_json : compare_many_text)(&out, report, error);
    if (result == 0)
        result = output_flush(&out, error);
    buf_free(&out);
    if (result == 0 && report->differing > 0)
        result = error_set(error, ERROR_DELIVERY, "%zu deliveries came out differently",
                           report->differing);
    return result;
}

static int compare_many_read_all(const struct options *options, struct crowd *crowd,
                                 struct error *error)
{
    while (options->files[crowd->file_count] != NULL)
        crowd->file_count++;
    if (crowd->file_count > CROWD_MOST)
        return error_set(error, ERROR_USAGE, "compare takes at most %d slogfiles, not %zu",
                         (int)CROWD_MOST, crowd->file_count);
    for (size_t i = 0; i < crowd->file_count; i++) {
        if (read_file(options, crowd, i, error) != 0)
            return -1;
    }
    return crowd_compute(crowd, error);
}

int compare_many_run(const struct options *options, struct error *error)
{
    struct crowd crowd = {0};
    struct crowd_report report = {.crowd = &crowd,
                                  .names = options->files,
                                  .slow_most = options->top > 0 ? options->top : SLOW_SHOWN};
    int result = compare_many_read_all(options, &crowd, error);

    if (result == 0)
        result = write_report(&report, options->json, error);
    free(report.slow);
    crowd_free(&crowd);
    return result;
}
