/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/json/json_member.h"
#include "base/json/json_text.h"
#include "base/log.h"
#include "base/text/format.h"
#include "base/visible.h"
#include "tools/command/against.h"
#include "tools/command/commands.h"
#include "tools/command/interval_rows.h"
#include "tools/command/overview.h"
#include "tools/input/feed.h"
#include "tools/output/output.h"
#include "tools/stats/groups.h"
#include "tools/stats/growth.h"
#include "tools/stats/intervals.h"

/*
 * The wholes of which shares are taken: the time, computrons and instructions of all live
 * deliveries or, for the group of replays, of all replays. The time between deliveries is in none
 * of these, so its share is of their sum and its own. A phase's share is of the time of all
 * phases.
 */
struct summary_totals {
    struct summary_whole {
        double time, between, compute, instructions, block_cost, gas_burnt, queued, gas;
    } live, replayed, phases;
};

/* An output format; begin and growth may be NULL. */
struct summary_ops {
    void (*begin)(struct buf *out);
    void (*group)(struct buf *out, const struct group *group, const struct summary_totals *totals);
    void (*growth)(struct buf *out, const struct growth *growth);
};

/*
 * Rows are 97 characters wide. They fit a narrower terminal without the two high percentiles,
 * where the maximum comes instead.
 */
enum { WIDTH = 97 };

static bool is_narrow(void)
{
    const size_t width = visible_width(STDOUT_FILENO);

    return width > 0 && width < WIDTH;
}

/* ---- text --------------------------------------------------------------- */

static const char *const titles[GROUP_COLUMNS] = {
    [COLUMN_TOTAL] = "total",
    [COLUMN_UP] = "pipe up",
    [COLUMN_DOWN] = "pipe down",
    [COLUMN_WORKER] = "worker",
    [COLUMN_KERNEL] = "kernel",
    [COLUMN_UNATTRIBUTED] = "unattributed",
    [COLUMN_CPU_WAIT] = "no CPU, gaspipe",
    [COLUMN_WORKER_CPU_WAIT] = "no CPU, worker",
    [COLUMN_BETWEEN] = "between-cranks",
    [COLUMN_COMPUTE] = "computrons",
    [COLUMN_INSTRUCTIONS] = "instructions",
    [COLUMN_BLOCK_COST] = "block cost",
    [COLUMN_GAS_BURNT] = "gas burnt",
    [COLUMN_QUEUED] = "queued",
    [COLUMN_GAS] = "gas",
    [COLUMN_RATIO] = "instr/computron",
};

static bool is_time_column(enum group_column column)
{
    return column != COLUMN_COMPUTE && column != COLUMN_INSTRUCTIONS &&
           column != COLUMN_BLOCK_COST && column != COLUMN_GAS && column != COLUMN_GAS_BURNT &&
           column != COLUMN_RATIO;
}

static void append_cell(struct buf *out, enum group_column column, uint64_t value)
{
    char text[UNITS_SIZE];

    if (is_time_column(column))
        units_time(text, value);
    else if (column == COLUMN_RATIO)
        snprintf(text, sizeof text, "%.1f", (double)value / GROUP_RATIO_SCALE);
    else
        units_count(text, value);
    units_pad(out, text, 11);
}

/* A column's share of its whole, 0 to 1. */
static double share_of(const struct group *group, enum group_column column,
                       const struct summary_totals *totals)
{
    const struct summary_whole *whole = group->kind == GROUP_REPLAY  ? &totals->replayed
                                        : group->kind == GROUP_PHASE ? &totals->phases
                                                                     : &totals->live;
    double all = column == COLUMN_COMPUTE        ? whole->compute
                 : column == COLUMN_INSTRUCTIONS ? whole->instructions
                 : column == COLUMN_QUEUED       ? whole->queued
                 : column == COLUMN_BLOCK_COST   ? whole->block_cost
                 : column == COLUMN_GAS_BURNT    ? whole->gas_burnt
                 : column == COLUMN_GAS          ? whole->gas
                 : column == COLUMN_BETWEEN      ? whole->time + whole->between
                                                 : whole->time;

    return all > 0 ? (double)group->columns[column].total / all : 0;
}

/* Sum and share of a ratio mean nothing: prints the ratio of the sums instead. */
static void append_whole(struct buf *out, const struct group *group, enum group_column column,
                         const struct summary_totals *totals)
{
    double ratio = column == COLUMN_RATIO ? group_ratio(group) : NAN;

    if (column != COLUMN_RATIO) {
        append_cell(out, column, group->columns[column].total);
        buf_printf(out, "%7.1f %%", 100 * share_of(group, column, totals));
    } else if (isnan(ratio)) {
        buf_printf(out, "%11s%9s", "", "");
    } else {
        buf_printf(out, "%11.1f%9s", ratio, "");
    }
}

static void text_column(struct buf *out, const struct group *group, enum group_column column,
                        const struct summary_totals *totals)
{
    const struct histogram *histogram = &group->columns[column];

    buf_printf(out, "  %-15s%9" PRIu64, titles[column], histogram->count);
    append_whole(out, group, column, totals);
    append_cell(out, column, histogram_quantile(histogram, 0.5));
    if (!is_narrow()) {
        append_cell(out, column, histogram_quantile(histogram, 0.9));
        append_cell(out, column, histogram_quantile(histogram, 0.99));
    }
    append_cell(out, column, histogram->maximum);
    buf_append_byte(out, '\n');
}

static void text_group(struct buf *out, const struct group *group,
                       const struct summary_totals *totals)
{
    size_t start = out->length;

    buf_append_string(out, group_kind_name(group->kind));
    if (group->name[0] != '\0')
        buf_printf(out, " %s", group->name);
    if (group->label[0] != '\0')
        buf_printf(out, " (%s)", group->label);
    if (!buf_failed(out) && out->length - start > 25)
        buf_append_string(out, "\n                          ");
    else
        buf_printf(out, "%*s", (int)(26 - (out->length - start)), "");
    buf_printf(out, "  count      total    share     median%s        max\n",
               is_narrow() ? "" : "        90%        99%");
    for (int column = 0; column < GROUP_COLUMNS; column++) {
        /* A row of zeros says nothing. */
        if (group->columns[column].maximum > 0)
            text_column(out, group, (enum group_column)column, totals);
    }
}

static const char *const growth_titles[GROWTH_MEASURES] = {
    [GROWTH_HEAP] = "heap slots",         [GROWTH_ALLOCATED] = "bytes taken",
    [GROWTH_CLIST] = "c-list entries",    [GROWTH_SNAPSHOT] = "snapshot bytes",
    [GROWTH_COLLECTIONS] = "collections", [GROWTH_RELEASED] = "released",
};

static void text_amount(struct buf *out, double amount)
{
    char text[UNITS_SIZE], signed_text[UNITS_SIZE + 1];

    units_count(text, (uint64_t)fabs(amount));
    snprintf(signed_text, sizeof signed_text, "%s%s", amount < 0 ? "-" : "", text);
    units_pad(out, signed_text, 11);
}

static void text_growth_of(struct buf *out, const struct growth_vat *vat)
{
    for (int i = 0; i < GROWTH_MEASURES; i++) {
        const struct growth_range *range = &vat->ranges[i];

        if (range->count == 0 || (range->most == 0 && range->least == 0))
            continue;
        buf_printf(out, "  %-15s%9" PRIu64, growth_titles[i], range->count);
        text_amount(out, range->first);
        text_amount(out, range->last);
        text_amount(out, range->last - range->first);
        text_amount(out, range->most);
        buf_append_byte(out, '\n');
    }
    if (vat->collecting > 0) {
        char text[UNITS_SIZE];

        units_time(text, vat->collecting);
        buf_printf(out, "  %-24s", "time in collections");
        units_pad(out, text, 11);
        buf_append_byte(out, '\n');
    }
}

static void text_growth(struct buf *out, const struct growth *growth)
{
    for (size_t i = 0; i < growth->vat_count; i++) {
        const struct growth_vat *vat = &growth->vats[i];
        size_t start = out->length;

        buf_printf(out, "growth %s", growth_vat_id(growth, i));
        if (growth_vat_name(growth, i)[0] != '\0')
            buf_printf(out, " (%s)", growth_vat_name(growth, i));
        if (!buf_failed(out) && out->length - start > 25)
            buf_append_string(out, "\n                          ");
        else
            buf_printf(out, "%*s", (int)(26 - (out->length - start)), "");
        buf_append_string(out, "  times      first       last     growth       most\n");
        text_growth_of(out, vat);
    }
}

static const struct summary_ops summary_text = {.group = text_group, .growth = text_growth};

/* ---- JSON and CSV ------------------------------------------------------- */

static void append_column_value(struct buf *out, enum group_column column, uint64_t value)
{
    if (is_time_column(column))
        json_text_nanoseconds(out, value > INT64_MAX ? INT64_MAX : (int64_t)value);
    else if (column == COLUMN_RATIO)
        buf_printf(out, "%.3f", (double)value / GROUP_RATIO_SCALE);
    else
        json_text_unsigned(out, value);
}

/* As append_whole(): absent values are null in JSON and empty in CSV. */
static void append_group_total(struct buf *out, const struct group *group, enum group_column column,
                               const char *none)
{
    double ratio = group_ratio(group);

    if (column != COLUMN_RATIO)
        append_column_value(out, column, group->columns[column].total);
    else if (isnan(ratio))
        buf_append_string(out, none);
    else
        buf_printf(out, "%.3f", ratio);
}

static void append_share(struct buf *out, const struct group *group, enum group_column column,
                         const struct summary_totals *totals, const char *none)
{
    if (column == COLUMN_RATIO)
        buf_append_string(out, none);
    else
        buf_printf(out, "%.6f", share_of(group, column, totals));
}

static void json_value(struct buf *out, const char *name, enum group_column column, uint64_t value)
{
    buf_printf(out, ",\"%s\":", name);
    append_column_value(out, column, value);
}

static void json_group(struct buf *out, const struct group *group,
                       const struct summary_totals *totals)
{
    for (int i = 0; i < GROUP_COLUMNS; i++) {
        enum group_column column = (enum group_column)i;
        const struct histogram *histogram = &group->columns[i];

        if (histogram->count == 0)
            continue;
        buf_append_string(out, "{\"kind\":\"group\"");
        json_member_text(out, "by", group_kind_name(group->kind));
        json_member_text(out, "name", group->name);
        json_member_text(out, "label", group->label);
        json_member_text(out, "column", group_column_name(column));
        buf_printf(out, ",\"count\":%" PRIu64, histogram->count);
        buf_append_string(out, ",\"total\":");
        append_group_total(out, group, column, "null");
        buf_append_string(out, ",\"share\":");
        append_share(out, group, column, totals, "null");
        json_value(out, "median", column, histogram_quantile(histogram, 0.5));
        json_value(out, "p90", column, histogram_quantile(histogram, 0.9));
        json_value(out, "p99", column, histogram_quantile(histogram, 0.99));
        json_value(out, "max", column, histogram->maximum);
        buf_append(out, "}\n", 2);
    }
}

static void json_growth(struct buf *out, const struct growth *growth)
{
    for (size_t i = 0; i < growth->vat_count; i++)
        growth_file_put(growth, i, out);
}

static const struct summary_ops summary_json = {.group = json_group, .growth = json_growth};

static void summary_csv_begin(struct buf *out)
{
    buf_append_string(out, "by,name,label,column,count,total,share,median,p90,p99,max\r\n");
}

static void csv_value(struct buf *out, enum group_column column, uint64_t value)
{
    buf_append_byte(out, ',');
    append_column_value(out, column, value);
}

static void csv_group(struct buf *out, const struct group *group,
                      const struct summary_totals *totals)
{
    for (int i = 0; i < GROUP_COLUMNS; i++) {
        enum group_column column = (enum group_column)i;
        const struct histogram *histogram = &group->columns[i];

        if (histogram->count == 0)
            continue;
        buf_append_string(out, group_kind_name(group->kind));
        buf_append_byte(out, ',');
        units_csv_text(out, group->name);
        buf_append_byte(out, ',');
        units_csv_text(out, group->label);
        buf_printf(out, ",%s,%" PRIu64, group_column_name(column), histogram->count);
        buf_append_byte(out, ',');
        append_group_total(out, group, column, "");
        buf_append_byte(out, ',');
        append_share(out, group, column, totals, "");
        csv_value(out, column, histogram_quantile(histogram, 0.5));
        csv_value(out, column, histogram_quantile(histogram, 0.9));
        csv_value(out, column, histogram_quantile(histogram, 0.99));
        csv_value(out, column, histogram->maximum);
        buf_append(out, "\r\n", 2);
    }
}

static const struct summary_ops summary_csv = {.begin = summary_csv_begin, .group = csv_group};

static struct summary_totals summary_totals(const struct groups *groups)
{
    struct summary_totals totals = {0};

    for (size_t i = 0; i < groups->count; i++) {
        const struct histogram *columns = groups->groups[i].columns;
        const struct summary_whole whole = {
            .time = (double)columns[COLUMN_TOTAL].total,
            .between = (double)columns[COLUMN_BETWEEN].total,
            .compute = (double)columns[COLUMN_COMPUTE].total,
            .instructions = (double)columns[COLUMN_INSTRUCTIONS].total,
            .block_cost = (double)columns[COLUMN_BLOCK_COST].total,
            .gas_burnt = (double)columns[COLUMN_GAS_BURNT].total,
            .queued = (double)columns[COLUMN_QUEUED].total,
            .gas = (double)columns[COLUMN_GAS].total,
        };

        if (groups->groups[i].kind == GROUP_PHASE)
            totals.phases.time += whole.time;
        if (groups->groups[i].kind == GROUP_ALL)
            totals.live = whole;
        else if (groups->groups[i].kind == GROUP_REPLAY)
            totals.replayed = whole;
    }
    return totals;
}

/* A group's time in nanoseconds, to sort by; of a syscall, that of its spans. */
static uint64_t summary_time(const struct group *group)
{
    const struct histogram *columns = group->columns;

    if (group->kind != GROUP_SYSCALL)
        return columns[COLUMN_TOTAL].total;
    return columns[COLUMN_UP].total + columns[COLUMN_KERNEL].total + columns[COLUMN_DOWN].total;
}

struct summary {
    const struct options *options;
    struct groups groups;
    struct growth growth;
    bool by_interval; /* print a row for each interval, or in text for each block */
    struct intervals intervals;
    bool on_screen; /* print the overview and no tables */
    struct overview overview;
    uint64_t chosen; /* deliveries */
    uint64_t run;    /* of the kernel, as in model_delivery */
};

static int summary_on_delivery(void *context, const struct model_delivery *delivery,
                               struct error *error)
{
    struct summary *summary = context;
    const bool wanted = selection_takes(&summary->options->selection, delivery);

    if (summary->on_screen && overview_add(&summary->overview, delivery, wanted, error) != 0)
        return -1;
    if (!wanted)
        return 0;
    summary->chosen++;
    if (summary->groups.wanted[GROUP_GROWTH] && growth_add(&summary->growth, delivery, error) != 0)
        return -1;
    if (summary->by_interval && intervals_add(&summary->intervals, delivery, error) != 0)
        return -1;
    return groups_add(&summary->groups, delivery, error);
}

static void summary_on_phase(void *context, const struct phase_span *span)
{
    struct summary *summary = context;

    if (!selection_takes_phase(&summary->options->selection, span, summary->run))
        return;
    groups_add_phase(&summary->groups, span);
    if (summary->groups.wanted[GROUP_GROWTH])
        growth_add_phase(&summary->growth, span);
}

static void summary_on_block(void *context, const struct phase_block *block)
{
    struct summary *summary = context;

    if (summary->by_interval && summary->intervals.length == 0 &&
        selection_in_range(&summary->options->selection.runs, (int64_t)summary->run))
        intervals_add_block(&summary->intervals, block);
}

static void summary_on_note(void *context, const struct model_note *note)
{
    ((struct summary *)context)->run += note->kind == MODEL_NOTE_KERNEL;
}

/* By kind, then by most time, then by name and label. */
static int compare_by_time(const void *a, const void *b)
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

/* In text a block is a row, since a chain has many. */
static bool is_in_table(const struct summary *summary, enum group_kind kind)
{
    const struct options *options = summary->options;

    return options->by[kind] &&
           !(kind == GROUP_BLOCK && summary->by_interval && summary->intervals.length == 0);
}

static bool has_groups(const struct summary *summary)
{
    for (int kind = 0; kind < GROUP_KINDS; kind++)
        if (is_in_table(summary, (enum group_kind)kind))
            return true;
    return false;
}

static void append_intervals(struct buf *out, const struct summary *summary)
{
    if (summary->options->json)
        interval_rows_json(out, &summary->intervals);
    else if (summary->options->csv)
        interval_rows_csv(out, &summary->intervals);
    else
        interval_rows_text(out, &summary->intervals);
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

    if (summary->by_interval)
        append_intervals(&out, summary);
    if (ops->begin != NULL && has_groups(summary))
        ops->begin(&out);
    for (size_t i = 0; i < summary->groups.count && result == 0; i++) {
        if (is_in_table(summary, sorted[i]->kind))
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

static int write_overview(struct summary *summary, struct error *error)
{
    struct buf out = {0};
    int result = overview_append(&out, &summary->overview, &summary->groups, error);

    if (result == 0)
        result = output_flush(&out, error);
    buf_free(&out);
    return result;
}

static int write_tables(const struct summary *summary, struct error *error)
{
    size_t count = summary->groups.count;
    const struct group **sorted = calloc(count + 1, sizeof(struct group *));
    int result;

    if (sorted == NULL)
        return error_memory(error, "a summary");
    for (size_t i = 0; i < count; i++)
        sorted[i] = &summary->groups.groups[i];
    qsort(sorted, count, sizeof(struct group *), compare_by_time);
    result = write_sorted(summary, sorted, error);
    free(sorted);
    return result;
}

static int write_summary(struct summary *summary, struct error *error)
{
    int result = summary->on_screen ? write_overview(summary, error) : write_tables(summary, error);

    if (summary->groups.spoiled > 0)
        log_line("%" PRIu64 " %s left out, since the clock was set within %s",
                 summary->groups.spoiled,
                 format_plural(summary->groups.spoiled, "delivery", "deliveries"),
                 format_plural(summary->groups.spoiled, "it", "them"));
    return result;
}

/*
 * `all` is always collected, since shares need it. The overview needs few of the groups that
 * --histograms writes.
 */
static void want_groups(struct summary *summary)
{
    const bool few = summary->on_screen && summary->options->histograms == NULL;

    for (int kind = 0; kind < GROUP_KINDS; kind++)
        summary->groups.wanted[kind] =
            kind == GROUP_ALL ||
            (few ? kind == GROUP_VAT || kind == GROUP_PHASE : summary->options->by[kind]);
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

static void explain_intervals(const struct summary *summary, const struct model_totals *totals)
{
    const uint64_t clocks = totals->notes[MODEL_NOTE_CLOCK];

    if (!summary->by_interval)
        return;
    if (summary->intervals.without_block > 0)
        log_line("%" PRIu64 " deliver%s outside of blocks", summary->intervals.without_block,
                 summary->intervals.without_block == 1 ? "y" : "ies");
    if (summary->intervals.length > 0 && clocks > 0)
        log_line("the clock was set %" PRIu64 " time%s; intervals are by the clock as it was then",
                 clocks, clocks == 1 ? "" : "s");
}

int summary_run(const struct options *options, struct error *error)
{
    struct summary summary = {.options = options, .run = 1};
    struct feed feed = options_feed(options);
    struct tally tally;
    int result;

    if (options->against != NULL)
        return against_run(options, error);
    summary.on_screen = !options->by_given && !options->json && !options->csv;
    summary.intervals.length = options->interval;
    summary.by_interval = options->interval > 0 || (options->by_given && options->by[GROUP_BLOCK] &&
                                                    !options->json && !options->csv);
    overview_init(&summary.overview);
    want_groups(&summary);
    feed.labels = options->causes;
    feed.sink = (struct model_sink){.delivery = summary_on_delivery,
                                    .note = summary_on_note,
                                    .phase = summary_on_phase,
                                    .block = summary_on_block,
                                    .context = &summary};
    result = feed_run(&feed, &tally, error);
    if (result == 0)
        result = summary_finish(&summary, error);
    if (result == 0)
        selection_explain(&options->selection, summary.chosen, tally.totals.deliveries);
    if (result == 0)
        explain_intervals(&summary, &tally.totals);
    if (result == 0 && !options->selection.runs.set && !options->by[GROUP_RUN])
        explain_runs(&tally.totals, NULL, "are added up");
    tally_free(&tally);
    overview_free(&summary.overview);
    intervals_free(&summary.intervals);
    groups_free(&summary.groups);
    growth_free(&summary.growth);
    return result;
}

/* Joins the growth of vats in the order of the files' beginnings. */
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
