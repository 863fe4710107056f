/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/command/compare_many.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/json/json_text.h"
#include "tools/input/feed.h"
#include "tools/output/output.h"
#include "tools/stats/crowd.h"

/* A delivery that took a file longer than the others. */
struct slow {
    size_t delivery, file;
    double excess; /* as crowd_excess() */
};

/* What a comparison of several files found. */
struct crowd_report {
    const struct crowd *crowd;
    char *const *names;      /* of the files */
    size_t rank[CROWD_MOST]; /* the slowest file first */
    size_t differing;        /* deliveries that did not come out the same in all files */
    struct slow *slow;       /* the one that lost most first; owned by who made the report */
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

/* A, B, …, Z, and from then on numbers. */
static void append_letter(struct buf *out, size_t file)
{
    if (file < 26)
        buf_append_byte(out, (char)('A' + file));
    else
        buf_printf(out, "%zu", file + 1);
}

static void compare_many_render_append_time(struct buf *out, double nanoseconds)
{
    char text[UNITS_SIZE];

    units_time(text, nanoseconds < 0 ? 0 : (uint64_t)nanoseconds);
    units_pad(out, text, COLUMN);
}

static void append_change(struct buf *out, int64_t nanoseconds)
{
    char text[UNITS_SIZE];
    struct buf change = {0};

    units_time(text, nanoseconds < 0 ? -(uint64_t)nanoseconds : (uint64_t)nanoseconds);
    buf_printf(&change, "%c%s", nanoseconds < 0 ? '-' : '+', text);
    if (buf_string(&change) == NULL)
        out->failed = true;
    else
        units_pad(out, change.data, COLUMN);
    buf_free(&change);
}

static void append_delivery(struct buf *out, const struct crowd *crowd, size_t delivery)
{
    buf_printf(out, "%s delivery %" PRId64 " ", crowd_vat(crowd, delivery),
               crowd->deliveries[delivery].delivery_num);
    buf_append_string(out, crowd_description(crowd, delivery));
}

static void append_file(struct buf *out, const struct crowd_report *report, size_t number)
{
    const struct crowd_file *file = &report->crowd->files[number];

    buf_append_string(out, "  ");
    append_letter(out, number);
    buf_append_string(out, number < 26 ? "   " : "  ");
    for (int part = 0; part < PAIR_PARTS; part++)
        compare_many_render_append_time(out, file->sums[part]);
    buf_printf(out, "%*.3f  %-7s", COLUMN, file->ratio, pair_part_name(file->where));
    if (file->aligned) {
        append_change(out, file->clock);
        append_change(out, file->behind_first);
        append_change(out, file->behind_last);
    }
    buf_append_byte(out, '\n');
}

static void append_files(struct buf *out, const struct crowd_report *report)
{
    const struct crowd *crowd = report->crowd;

    for (size_t i = 0; i < crowd->file_count; i++) {
        append_letter(out, i);
        buf_printf(out, ": %s: %zu deliveries", report->names[i], crowd->files[i].deliveries);
        if (crowd->files[i].missing > 0)
            buf_printf(out, ", %zu of others missing", crowd->files[i].missing);
        if (crowd->files[i].differing > 0)
            buf_printf(out, ", %zu unlike most", crowd->files[i].differing);
        buf_append_byte(out, '\n');
    }
    buf_printf(out, "%zu deliveries in all, %zu of them fully timed in all\n\n", crowd->in_all,
               crowd->timed_in_all);
    buf_append_string(out, "the slowest first:\n");
    buf_printf(out, "%6s%*s%*s%*s%*s%*s  %-7s", "", COLUMN, "total", COLUMN, "pipe", COLUMN,
               "worker", COLUMN, "kernel", COLUMN, "ratio", "most in");
    buf_printf(out, "%*s%*s%*s\n", COLUMN, "clock", COLUMN, "late first", COLUMN, "late last");
    for (size_t i = 0; i < crowd->file_count; i++)
        append_file(out, report, report->rank[i]);
}

/* "    C: result, compute" for each file that differs from most. */
static void append_unlike(struct buf *out, const struct crowd *crowd, size_t delivery)
{
    for (size_t file = 0; file < crowd->file_count; file++) {
        unsigned differ = crowd_differences(crowd, delivery, file);
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

static bool differs(const struct crowd *crowd, size_t delivery)
{
    for (size_t file = 0; file < crowd->file_count; file++) {
        if (crowd_differences(crowd, delivery, file) != 0)
            return true;
    }
    return false;
}

static int append_divergences(struct buf *out, const struct crowd_report *report,
                              struct error *error)
{
    if (report->differing == 0) {
        if (report->crowd->in_all > 0)
            buf_append_string(out, "\nno divergence: the same results, syscalls and computrons\n");
        return 0;
    }
    buf_printf(out, "\nthey part in %zu deliveries, first in the first of these:\n",
               report->differing);
    for (size_t i = 0; i < report->crowd->count; i++) {
        if (!differs(report->crowd, i))
            continue;
        buf_append_string(out, "DIVERGENCE in ");
        append_delivery(out, report->crowd, i);
        buf_append_byte(out, '\n');
        append_unlike(out, report->crowd, i);
        if (output_flush_if_much(out, error) != 0)
            return -1;
    }
    return 0;
}

static void append_slow(struct buf *out, const struct crowd_report *report)
{
    if (report->slow_count == 0)
        return;
    buf_append_string(out,
                      "\nwhat took one of them longest beyond the others and its own usual:\n");
    for (size_t i = 0; i < report->slow_count; i++) {
        const struct slow *slow = &report->slow[i];
        const struct crowd_side *side = &crowd_sides(report->crowd, slow->delivery)[slow->file];

        buf_append_string(out, "  ");
        append_letter(out, slow->file);
        compare_many_render_append_time(out, (double)side->parts[PAIR_TOTAL]);
        append_change(out, (int64_t)slow->excess);
        buf_append_string(out, "  ");
        append_delivery(out, report->crowd, slow->delivery);
        buf_append_byte(out, '\n');
    }
}

/* Each prints what it has on standard output as it grows, and leaves the rest in `out`. */
static int compare_many_text(struct buf *out, const struct crowd_report *report,
                             struct error *error)
{
    append_files(out, report);
    if (append_divergences(out, report, error) != 0)
        return -1;
    append_slow(out, report);
    return 0;
}

/* ---- JSON --------------------------------------------------------------- */

static void json_string(struct buf *out, const char *name, const char *text)
{
    buf_printf(out, ",\"%s\":", name);
    json_text_string(out, text, strlen(text));
}

static void json_time(struct buf *out, const char *name, double nanoseconds)
{
    buf_printf(out, ",\"%s\":", name);
    json_text_nanoseconds(out, (int64_t)nanoseconds);
}

static void json_file(struct buf *out, const struct crowd_report *report, size_t place)
{
    size_t number = report->rank[place];
    const struct crowd_file *file = &report->crowd->files[number];

    buf_printf(out, "{\"kind\":\"file\",\"rank\":%zu,\"number\":%zu", place + 1, number + 1);
    json_string(out, "file", report->names[number]);
    buf_printf(out, ",\"deliveries\":%zu,\"missing\":%zu,\"differing\":%zu", file->deliveries,
               file->missing, file->differing);
    for (int part = 0; part < PAIR_PARTS; part++)
        json_time(out, pair_part_name((enum pair_part)part), file->sums[part]);
    buf_printf(out, ",\"ratio\":%.6f,\"where\":\"%s\"", file->ratio, pair_part_name(file->where));
    if (file->aligned) {
        json_time(out, "clock", (double)file->clock);
        json_time(out, "lateFirst", (double)file->behind_first);
        json_time(out, "lateLast", (double)file->behind_last);
    }
    buf_append(out, "}\n", 2);
}

static void json_delivery(struct buf *out, const struct crowd *crowd, size_t delivery)
{
    json_string(out, "vatID", crowd_vat(crowd, delivery));
    buf_printf(out, ",\"deliveryNum\":%" PRId64, crowd->deliveries[delivery].delivery_num);
    json_string(out, "description", crowd_description(crowd, delivery));
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

static void json_divergence(struct buf *out, const struct crowd *crowd, size_t delivery)
{
    const char *separator = "";

    buf_append_string(out, "{\"kind\":\"divergence\"");
    json_delivery(out, crowd, delivery);
    buf_append_string(out, ",\"unlike\":[");
    for (size_t file = 0; file < crowd->file_count; file++) {
        unsigned differ = crowd_differences(crowd, delivery, file);

        if (differ == 0)
            continue;
        buf_append_string(out, separator);
        json_unlike(out, file, differ);
        separator = ",";
    }
    buf_append_string(out, "]}\n");
}

static void json_slow(struct buf *out, const struct crowd_report *report, const struct slow *slow)
{
    const struct crowd_side *side = &crowd_sides(report->crowd, slow->delivery)[slow->file];

    buf_append_string(out, "{\"kind\":\"slow\"");
    json_delivery(out, report->crowd, slow->delivery);
    buf_printf(out, ",\"number\":%zu", slow->file + 1);
    json_time(out, "total", (double)side->parts[PAIR_TOTAL]);
    json_time(out, "excess", slow->excess);
    buf_append(out, "}\n", 2);
}

static int compare_many_json(struct buf *out, const struct crowd_report *report,
                             struct error *error)
{
    const struct crowd *crowd = report->crowd;

    for (size_t i = 0; i < crowd->file_count; i++)
        json_file(out, report, i);
    for (size_t i = 0; i < crowd->count; i++) {
        if (differs(crowd, i))
            json_divergence(out, crowd, i);
        if (output_flush_if_much(out, error) != 0)
            return -1;
    }
    for (size_t i = 0; i < report->slow_count; i++)
        json_slow(out, report, &report->slow[i]);
    buf_printf(out, "{\"kind\":\"comparison\",\"files\":%zu,\"inAll\":%zu,\"timedInAll\":%zu",
               crowd->file_count, crowd->in_all, crowd->timed_in_all);
    buf_printf(out, ",\"diverging\":%zu}\n", report->differing);
    return 0;
}

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
