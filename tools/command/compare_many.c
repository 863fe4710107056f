/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"
#include "base/text/format.h"
#include "tools/command/compare_ranking.h"
#include "tools/command/compare_stamps.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/json/json_member.h"
#include "tools/input/feed.h"
#include "tools/output/output.h"
#include "tools/stats/slogfile_set.h"

/* A delivery that took longer in one file than in the others. */
struct slow {
    size_t delivery, file;
    double excess; /* as slogfile_set_excess() */
};

/* The result of comparing several files. */
struct slogfile_set_report {
    const struct slogfile_set *set;
    char *const *names;             /* of the files */
    size_t rank[SLOGFILE_SET_MOST]; /* the slowest file first */
    size_t differing;               /* deliveries with different outcomes */
    struct slow *slow;              /* largest excess first; owned by the caller */
    size_t slow_count, slow_most;
};

enum { COLUMN = 12 };

static const struct {
    enum pair_difference bit;
    const char *name;
} differences[] = {{PAIR_INPUT, "input"},
                   {PAIR_RESULT, "result"},
                   {PAIR_SYSCALLS, "syscalls"},
                   {PAIR_COMPUTE, "compute"}};

#define DIFFERENCES (sizeof differences / sizeof differences[0])

/* ---- text --------------------------------------------------------------- */

/* Appends A, B, …, Z, then numbers. */
static void append_letter(struct buf *out, size_t file)
{
    if (file < 26)
        buf_append_byte(out, (char)('A' + file));
    else
        buf_printf(out, "%zu", file + 1);
}

static void append_set_delivery(struct buf *out, const struct slogfile_set *set, size_t delivery)
{
    buf_printf(out, "%s delivery %" PRId64 " ", slogfile_set_vat(set, delivery),
               set->deliveries[delivery].delivery_num);
    buf_append_string(out, slogfile_set_description(set, delivery));
}

static void append_file(struct buf *out, const struct slogfile_set_report *report, size_t number)
{
    const struct slogfile_set_file *file = &report->set->files[number];

    buf_append_string(out, "  ");
    append_letter(out, number);
    buf_append_string(out, number < 26 ? "   " : "  ");
    for (int part = 0; part < PAIR_PARTS; part++)
        units_pad_time(out, (int64_t)file->sums[part], COLUMN);
    buf_printf(out, "%*.3f  %-7s", COLUMN, file->ratio, pair_part_name(file->where));
    if (file->aligned) {
        units_pad_change(out, file->clock, COLUMN);
        units_pad_change(out, file->late_first, COLUMN);
        units_pad_change(out, file->late_last, COLUMN);
    }
    buf_append_byte(out, '\n');
}

static void append_files(struct buf *out, const struct slogfile_set_report *report)
{
    const struct slogfile_set *set = report->set;

    for (size_t i = 0; i < set->file_count; i++) {
        append_letter(out, i);
        buf_printf(out, ": %s: %zu %s", report->names[i], set->files[i].deliveries,
                   format_plural(set->files[i].deliveries, "delivery", "deliveries"));
        if (set->files[i].missing > 0)
            buf_printf(out, ", %zu of others missing", set->files[i].missing);
        if (set->files[i].differing > 0)
            buf_printf(out, ", %zu unlike most", set->files[i].differing);
        buf_append_byte(out, '\n');
    }
    buf_printf(out, "%zu %s in all, %zu of them fully timed in all\n\n", set->in_all,
               format_plural(set->in_all, "delivery", "deliveries"), set->timed_in_all);
    buf_append_string(out, "the slowest first:\n");
    buf_printf(out, "%6s%*s%*s%*s%*s%*s  %-7s", "", COLUMN, "total", COLUMN, "pipe", COLUMN,
               "worker", COLUMN, "kernel", COLUMN, "ratio", "most in");
    buf_printf(out, "%*s%*s%*s\n", COLUMN, "clock", COLUMN, "late first", COLUMN, "late last");
    for (size_t i = 0; i < set->file_count; i++)
        append_file(out, report, report->rank[i]);
}

/* "    C: result, compute" for each file that differs from most. */
static void append_unlike(struct buf *out, const struct slogfile_set *set, size_t delivery)
{
    for (size_t file = 0; file < set->file_count; file++) {
        unsigned differ = slogfile_set_differences(set, delivery, file);
        const char *separator = ": other ";

        if (differ == 0)
            continue;
        buf_append_string(out, "    ");
        append_letter(out, file);
        for (size_t i = 0; i < DIFFERENCES; i++) {
            if ((differ & (unsigned)differences[i].bit) == 0)
                continue;
            buf_printf(out, "%s%s", separator,
                       differences[i].bit == PAIR_COMPUTE ? "computrons" : differences[i].name);
            separator = ", ";
        }
        buf_append_byte(out, '\n');
    }
}

static bool differs(const struct slogfile_set *set, size_t delivery)
{
    for (size_t file = 0; file < set->file_count; file++) {
        if (slogfile_set_differences(set, delivery, file) != 0)
            return true;
    }
    return false;
}

static int append_set_divergences(struct buf *out, const struct slogfile_set_report *report,
                                  struct error *error)
{
    if (report->differing == 0) {
        if (report->set->in_all > 0)
            buf_append_string(out, "\nno divergence: the same results, syscalls and computrons\n");
        return 0;
    }
    buf_printf(out, "\nthey part in %zu %s, first in the first of these:\n", report->differing,
               format_plural(report->differing, "delivery", "deliveries"));
    for (size_t i = 0; i < report->set->count; i++) {
        if (!differs(report->set, i))
            continue;
        buf_append_string(out, "DIVERGENCE in ");
        append_set_delivery(out, report->set, i);
        buf_append_byte(out, '\n');
        append_unlike(out, report->set, i);
        if (output_flush_if_much(out, error) != 0)
            return -1;
    }
    return 0;
}

static void append_slow(struct buf *out, const struct slogfile_set_report *report)
{
    if (report->slow_count == 0)
        return;
    buf_append_string(out,
                      "\nwhat took one of them longest beyond the others and its own usual:\n");
    for (size_t i = 0; i < report->slow_count; i++) {
        const struct slow *slow = &report->slow[i];
        const struct slogfile_set_side *side =
            &slogfile_set_sides(report->set, slow->delivery)[slow->file];

        buf_append_string(out, "  ");
        append_letter(out, slow->file);
        units_pad_time(out, (int64_t)side->parts[PAIR_TOTAL], COLUMN);
        units_pad_change(out, (int64_t)slow->excess, COLUMN);
        buf_append_string(out, "  ");
        append_set_delivery(out, report->set, slow->delivery);
        buf_append_byte(out, '\n');
    }
}

/* Prints to standard output as `out` grows, and leaves the rest in `out`. */
static int compare_many_text(struct buf *out, const struct slogfile_set_report *report,
                             struct error *error)
{
    append_files(out, report);
    if (append_set_divergences(out, report, error) != 0)
        return -1;
    append_slow(out, report);
    return 0;
}

/* ---- JSON --------------------------------------------------------------- */

static void json_file(struct buf *out, const struct slogfile_set_report *report, size_t place)
{
    size_t number = report->rank[place];
    const struct slogfile_set_file *file = &report->set->files[number];

    buf_printf(out, "{\"kind\":\"file\",\"rank\":%zu,\"number\":%zu", place + 1, number + 1);
    json_member_text(out, "file", report->names[number]);
    buf_printf(out, ",\"deliveries\":%zu,\"missing\":%zu,\"differing\":%zu", file->deliveries,
               file->missing, file->differing);
    for (int part = 0; part < PAIR_PARTS; part++)
        json_member_seconds(out, pair_part_name((enum pair_part)part), (int64_t)file->sums[part]);
    buf_printf(out, ",\"ratio\":%.6f,\"where\":\"%s\"", file->ratio, pair_part_name(file->where));
    if (file->aligned) {
        json_member_seconds(out, "clock", file->clock);
        json_member_seconds(out, "lateFirst", file->late_first);
        json_member_seconds(out, "lateLast", file->late_last);
    }
    buf_append(out, "}\n", 2);
}

static void put_set_delivery(struct buf *out, const struct slogfile_set *set, size_t delivery)
{
    json_member_text(out, "vatID", slogfile_set_vat(set, delivery));
    buf_printf(out, ",\"deliveryNum\":%" PRId64, set->deliveries[delivery].delivery_num);
    json_member_text(out, "description", slogfile_set_description(set, delivery));
}

static void json_unlike(struct buf *out, size_t file, unsigned differ)
{
    const char *separator = "";

    buf_printf(out, "{\"number\":%zu,\"differs\":[", file + 1);
    for (size_t i = 0; i < DIFFERENCES; i++) {
        if ((differ & (unsigned)differences[i].bit) == 0)
            continue;
        buf_printf(out, "%s\"%s\"", separator, differences[i].name);
        separator = ",";
    }
    buf_append_string(out, "]}");
}

static void json_divergence(struct buf *out, const struct slogfile_set *set, size_t delivery)
{
    const char *separator = "";

    buf_append_string(out, "{\"kind\":\"divergence\"");
    put_set_delivery(out, set, delivery);
    buf_append_string(out, ",\"unlike\":[");
    for (size_t file = 0; file < set->file_count; file++) {
        unsigned differ = slogfile_set_differences(set, delivery, file);

        if (differ == 0)
            continue;
        buf_append_string(out, separator);
        json_unlike(out, file, differ);
        separator = ",";
    }
    buf_append_string(out, "]}\n");
}

static void json_slow(struct buf *out, const struct slogfile_set_report *report,
                      const struct slow *slow)
{
    const struct slogfile_set_side *side =
        &slogfile_set_sides(report->set, slow->delivery)[slow->file];

    buf_append_string(out, "{\"kind\":\"slow\"");
    put_set_delivery(out, report->set, slow->delivery);
    buf_printf(out, ",\"number\":%zu", slow->file + 1);
    json_member_seconds(out, "total", (int64_t)side->parts[PAIR_TOTAL]);
    json_member_seconds(out, "excess", (int64_t)slow->excess);
    buf_append(out, "}\n", 2);
}

static int compare_many_json(struct buf *out, const struct slogfile_set_report *report,
                             struct error *error)
{
    const struct slogfile_set *set = report->set;

    for (size_t i = 0; i < set->file_count; i++)
        json_file(out, report, i);
    for (size_t i = 0; i < set->count; i++) {
        if (differs(set, i))
            json_divergence(out, set, i);
        if (output_flush_if_much(out, error) != 0)
            return -1;
    }
    for (size_t i = 0; i < report->slow_count; i++)
        json_slow(out, report, &report->slow[i]);
    buf_printf(out, "{\"kind\":\"comparison\",\"files\":%zu,\"inAll\":%zu,\"timedInAll\":%zu",
               set->file_count, set->in_all, set->timed_in_all);
    buf_printf(out, ",\"diverging\":%zu}\n", report->differing);
    return 0;
}

/* Slow deliveries listed without --top. */
enum { SLOW_SHOWN = 20 };

struct reading {
    const struct options *options;
    struct slogfile_set *set;
    size_t file;
    bool client;     /* has stamps of a worker's client */
    uint64_t chosen; /* deliveries */
};

/* Deliveries of all files. */
struct compared_counts {
    uint64_t chosen, all;
};

static int compare_many_on_delivery(void *context, const struct model_delivery *delivery,
                                    struct error *error)
{
    struct reading *reading = context;

    reading->client |= delivery->client_pipe != 0;
    if (!selection_takes(&reading->options->selection, delivery))
        return 0;
    reading->chosen++;
    return slogfile_set_add(reading->set, reading->file, delivery, error);
}

static int compare_read_file(const struct options *options, struct slogfile_set *set, size_t number,
                             struct compare_stamps *stamps, struct compared_counts *counts,
                             struct error *error)
{
    struct reading reading = {.options = options, .set = set, .file = number};
    char *files[] = {options->files[number], NULL};
    struct feed feed = options_feed(options);
    struct tally tally;
    int result;

    feed.files = files;
    feed.vats = NULL;   /* another file may have it */
    feed.labels = true; /* needed for the digest of syscalls */
    feed.sink = (struct model_sink){.delivery = compare_many_on_delivery, .context = &reading};
    result = feed_run(&feed, &tally, error);
    if (result == 0 && !options->selection.runs.set)
        explain_runs(&tally.totals, options->files[number],
                     "are in it, and of deliveries of one number the last counts");
    counts->chosen += reading.chosen;
    counts->all += tally.totals.deliveries;
    tally_free(&tally);
    return result == 0
               ? compare_stamps_add(stamps, options, options->files[number], reading.client, error)
               : -1;
}

/* The largest excess first; equals in file order. */
static int compare_slow_excess(const void *a, const void *b)
{
    const struct slow *left = a, *right = b;

    if (left->excess != right->excess)
        return left->excess > right->excess ? -1 : 1;
    return left->delivery < right->delivery ? -1 : left->delivery > right->delivery;
}

/* In each delivery, the file that lost most. */
static int find_slow(struct slogfile_set_report *report, struct error *error)
{
    const struct slogfile_set *set = report->set;

    report->slow = calloc(set->count + 1, sizeof *report->slow);
    if (report->slow == NULL)
        return error_memory(error, "the deliveries to compare");
    for (size_t i = 0; i < set->count; i++) {
        struct slow slow = {.delivery = i};

        for (size_t file = 0; file < set->file_count; file++) {
            double excess = slogfile_set_excess(set, i, file);

            if (excess > slow.excess) {
                slow.excess = excess;
                slow.file = file;
            }
        }
        if (slow.excess > 0)
            report->slow[report->slow_count++] = slow;
    }
    qsort(report->slow, report->slow_count, sizeof *report->slow, compare_slow_excess);
    if (report->slow_count > report->slow_most)
        report->slow_count = report->slow_most;
    return 0;
}

static void count_differing(struct slogfile_set_report *report)
{
    const struct slogfile_set *set = report->set;

    for (size_t i = 0; i < set->count; i++) {
        bool differs = false;

        for (size_t file = 0; file < set->file_count; file++)
            differs |= slogfile_set_differences(set, i, file) != 0;
        report->differing += differs;
    }
}

/* The slowest file first, by insertion: there are few. */
static void rank_files(struct slogfile_set_report *report)
{
    const struct slogfile_set_file *files = report->set->files;

    for (size_t i = 0; i < report->set->file_count; i++) {
        size_t at = i;

        for (; at > 0 && files[report->rank[at - 1]].sums[PAIR_TOTAL] < files[i].sums[PAIR_TOTAL];
             at--)
            report->rank[at] = report->rank[at - 1];
        report->rank[at] = i;
    }
}

static int write_set_report(struct slogfile_set_report *report, bool json, struct error *error)
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
    if (result == 0 && report->set->in_all == 0 && report->set->count > 0)
        log_line(
            "no delivery is in all files, by its vat and number; `slogreport summary --against "
            "A B` compares the sums of two");
    if (result == 0 && report->differing > 0)
        result = error_set(error, ERROR_DELIVERY, "%zu %s came out differently", report->differing,
                           format_plural(report->differing, "delivery", "deliveries"));
    return result;
}

static int compare_many_read_all(const struct options *options, struct slogfile_set *set,
                                 struct compared_counts *counts, struct error *error)
{
    struct compare_stamps stamps = {0};

    while (options->files[set->file_count] != NULL)
        set->file_count++;
    if (set->file_count > SLOGFILE_SET_MOST)
        return error_set(error, ERROR_USAGE, "compare takes at most %d slogfiles, not %zu",
                         (int)SLOGFILE_SET_MOST, set->file_count);
    for (size_t i = 0; i < set->file_count; i++) {
        if (compare_read_file(options, set, i, &stamps, counts, error) != 0)
            return -1;
    }
    return slogfile_set_compute(set, error);
}

int compare_many_run(const struct options *options, struct error *error)
{
    struct slogfile_set set = {0};
    struct slogfile_set_report report = {.set = &set,
                                         .names = options->files,
                                         .slow_most = options->top > 0 ? options->top : SLOW_SHOWN};
    struct compared_counts counts = {0};
    int result = compare_many_read_all(options, &set, &counts, error);

    if (result == 0)
        result = write_set_report(&report, options->json, error);
    if (result == 0)
        selection_explain(&options->selection, counts.chosen, counts.all);
    free(report.slow);
    slogfile_set_free(&set);
    return result;
}
