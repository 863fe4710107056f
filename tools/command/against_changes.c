/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/command/against_changes.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json/json_member.h"
#include "base/json/json_text.h"
#include "tools/output/output.h"

enum { MOVED = 5, LABEL_WIDTH = 26 };

static const enum group_column part_columns[] = {COLUMN_UP, COLUMN_DOWN, COLUMN_WORKER,
                                                 COLUMN_KERNEL, COLUMN_UNATTRIBUTED};
static const char *const part_names[] = {"pipe, worker to kernel", "pipe, kernel to worker",
                                         "worker", "kernel", "unattributed"};

enum { PARTS = sizeof part_columns / sizeof *part_columns };

int change_side_add(struct change_side *side, const struct model_delivery *delivery,
                    struct error *error)
{
    side->chosen++;
    overview_count(&side->counts, delivery);
    return groups_add(&side->groups, delivery, error);
}

void changes_init(struct changes *changes)
{
    static const enum group_kind usual[] = {GROUP_ALL, GROUP_VAT, GROUP_KIND, GROUP_METHOD};

    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
        changes->before.groups.wanted[usual[i]] = changes->now.groups.wanted[usual[i]] = true;
    for (int kind = 0; changes->by != NULL && kind < GROUP_KINDS; kind++)
        if (changes->by[kind])
            changes->before.groups.wanted[kind] = changes->now.groups.wanted[kind] = true;
    changes->before.groups.wanted[GROUP_PHASE] = changes->now.groups.wanted[GROUP_PHASE] =
        changes->with_phases;
}

void changes_free(struct changes *changes)
{
    groups_free(&changes->before.groups);
    groups_free(&changes->now.groups);
}

/* ---- pairs of groups ---------------------------------------------------- */

/* A group of both sides; absent in one, it is empty there. */
struct change {
    enum group_kind kind;
    const char *name, *label;
    const struct group *before, *now;
};

static const struct group empty;

static double total_of(const struct group *group, enum group_column column)
{
    return (double)group->columns[column].total;
}

static double moved(const struct change *change, enum group_column column)
{
    return total_of(change->now, column) - total_of(change->before, column);
}

static const struct group *find_group(const struct groups *groups, const struct group *like)
{
    for (size_t i = 0; i < groups->count; i++) {
        const struct group *group = &groups->groups[i];

        if (group->kind == like->kind && strcmp(group->name, like->name) == 0 &&
            strcmp(group->label, like->label) == 0)
            return group;
    }
    return &empty;
}

static int by_change(const void *a, const void *b)
{
    const struct change *left = a, *right = b;
    const double left_moved = fabs(moved(left, COLUMN_TOTAL));
    const double right_moved = fabs(moved(right, COLUMN_TOTAL));

    if (left->kind != right->kind)
        return left->kind < right->kind ? -1 : 1;
    if (left_moved != right_moved)
        return left_moved > right_moved ? -1 : 1;
    return strcmp(left->name, right->name);
}

static void append_change(struct change *list, size_t *count, const struct group *group,
                          const struct group *before, const struct group *now)
{
    list[(*count)++] = (struct change){.kind = group->kind,
                                       .name = group->name,
                                       .label = group->label,
                                       .before = before,
                                       .now = now};
}

/* All pairs, by kind, the largest change of time first. NULL when out of memory; to be freed. */
static struct change *pair_groups(const struct changes *changes, size_t *count)
{
    const struct groups *before = &changes->before.groups, *now = &changes->now.groups;
    struct change *list = calloc(before->count + now->count + 1, sizeof *list);

    *count = 0;
    if (list == NULL)
        return NULL;
    for (size_t i = 0; i < before->count; i++)
        append_change(list, count, &before->groups[i], &before->groups[i],
                      find_group(now, &before->groups[i]));
    for (size_t i = 0; i < now->count; i++)
        if (find_group(before, &now->groups[i]) == &empty)
            append_change(list, count, &now->groups[i], &empty, &now->groups[i]);
    qsort(list, *count, sizeof *list, by_change);
    return list;
}

/* The change of all deliveries; NULL if absent. */
static const struct change *change_of_all(const struct change *list, size_t count)
{
    return count > 0 && list[0].kind == GROUP_ALL ? &list[0] : NULL;
}

static bool is_other_phase(const struct change *change)
{
    return change->kind == GROUP_PHASE && strcmp(change->name, phase_name(PHASE_DELIVERY)) != 0;
}

/* The part of a delivery's time that changed most. */
static size_t most_moved_part(const struct change *change)
{
    size_t most = 0;

    for (size_t i = 1; i < PARTS; i++)
        if (fabs(moved(change, part_columns[i])) > fabs(moved(change, part_columns[most])))
            most = i;
    return most;
}

/* ---- text --------------------------------------------------------------- */

/* "1.234"; "new" and "gone" if one side has nothing. */
static void append_ratio(struct buf *out, double before, double now)
{
    if (before > 0 && now > 0)
        buf_printf(out, "%11.3f", now / before);
    else
        buf_printf(out, "%11s", now > 0 ? "new" : before > 0 ? "gone" : "-");
}

static double mean(double total, uint64_t count)
{
    return count > 0 ? total / (double)count : 0;
}

static void append_time_row(struct buf *out, const struct changes *changes, int indent,
                            const char *name, double before, double now)
{
    if (before <= 0 && now <= 0)
        return;
    buf_printf(out, "%*s%-*s", indent, "", LABEL_WIDTH - indent, name);
    units_pad_time(out, (int64_t)before, 11);
    units_pad_time(out, (int64_t)now, 11);
    units_pad_change(out, (int64_t)(now - before), 12);
    append_ratio(out, before, now);
    append_ratio(out, mean(before, changes->before.counts.deliveries),
                 mean(now, changes->now.counts.deliveries));
    buf_append_byte(out, '\n');
}

static void append_count_row(struct buf *out, const struct changes *changes, const char *name,
                             uint64_t before, uint64_t now, bool per_delivery)
{
    char text[UNITS_SIZE], sign = now < before ? '-' : '+';
    struct buf change = {0};

    if (before == 0 && now == 0)
        return;
    buf_printf(out, "%-*s", LABEL_WIDTH, name);
    units_count(text, before);
    units_pad(out, text, 11);
    units_count(text, now);
    units_pad(out, text, 11);
    units_count(text, now > before ? now - before : before - now);
    buf_printf(&change, "%c%s", now == before ? ' ' : sign, text);
    if (buf_string(&change) != NULL)
        units_pad(out, buf_string(&change), 12);
    buf_free(&change);
    append_ratio(out, (double)before, (double)now);
    if (per_delivery)
        append_ratio(out, mean((double)before, changes->before.counts.deliveries),
                     mean((double)now, changes->now.counts.deliveries));
    buf_append_byte(out, '\n');
}

static void append_quantile_row(struct buf *out, const char *name, const struct change *all,
                                double share)
{
    const double before = (double)histogram_quantile(&all->before->columns[COLUMN_TOTAL], share);
    const double now = (double)histogram_quantile(&all->now->columns[COLUMN_TOTAL], share);

    buf_printf(out, "%-*s", LABEL_WIDTH, name);
    units_pad_time(out, (int64_t)before, 11);
    units_pad_time(out, (int64_t)now, 11);
    units_pad_change(out, (int64_t)(now - before), 12);
    append_ratio(out, before, now);
    buf_append_byte(out, '\n');
}

static void append_deliveries(struct buf *out, const struct changes *changes,
                              const struct change *all)
{
    static const struct {
        enum group_column column;
        const char *name;
    } costs[] = {{COLUMN_COMPUTE, "computrons"},
                 {COLUMN_INSTRUCTIONS, "instructions"},
                 {COLUMN_BLOCK_COST, "block cost"},
                 {COLUMN_GAS_BURNT, "gas burnt"},
                 {COLUMN_GAS, "gas"}};
    const struct overview_counts *before = &changes->before.counts, *now = &changes->now.counts;

    append_count_row(out, changes, "deliveries", before->deliveries, now->deliveries, false);
    append_count_row(out, changes, "failed", before->failed, now->failed, true);
    append_time_row(out, changes, 0, "time in deliveries", total_of(all->before, COLUMN_TOTAL),
                    total_of(all->now, COLUMN_TOTAL));
    for (size_t i = 0; i < PARTS; i++)
        append_time_row(out, changes, 2, part_names[i], total_of(all->before, part_columns[i]),
                        total_of(all->now, part_columns[i]));
    append_time_row(out, changes, 2, "(gaspipe had no CPU)", (double)before->cpu_wait,
                    (double)now->cpu_wait);
    append_time_row(out, changes, 2, "(workers had no CPU)", (double)before->worker_cpu_wait,
                    (double)now->worker_cpu_wait);
    append_quantile_row(out, "a delivery, median", all, 0.5);
    append_quantile_row(out, "a delivery, 99 %", all, 0.99);
    for (size_t i = 0; i < sizeof costs / sizeof *costs; i++)
        append_count_row(out, changes, costs[i].name, all->before->columns[costs[i].column].total,
                         all->now->columns[costs[i].column].total, true);
}

/* One row of a group: its deliveries, its time, and the part of that which changed most. */
static void append_moved(struct buf *out, const struct change *change)
{
    const size_t part = most_moved_part(change);
    const size_t start = out->length;

    buf_printf(out, "  %s%s%s", change->name, change->label[0] != '\0' ? " " : "", change->label);
    do
        buf_append_byte(out, ' ');
    while (!buf_failed(out) && out->length - start < LABEL_WIDTH);
    units_pad_time(out, (int64_t)total_of(change->before, COLUMN_TOTAL), 11);
    units_pad_time(out, (int64_t)total_of(change->now, COLUMN_TOTAL), 11);
    units_pad_change(out, (int64_t)moved(change, COLUMN_TOTAL), 12);
    append_ratio(out, total_of(change->before, COLUMN_TOTAL), total_of(change->now, COLUMN_TOTAL));
    if (change->kind != GROUP_PHASE) {
        buf_printf(out, "  %" PRIu64 " -> %" PRIu64, change->before->columns[COLUMN_TOTAL].count,
                   change->now->columns[COLUMN_TOTAL].count);
        if (fabs(moved(change, part_columns[part])) > 0) {
            buf_printf(out, ", %s ", part_names[part]);
            units_pad_change(out, (int64_t)moved(change, part_columns[part]), 0);
        }
    }
    buf_append_byte(out, '\n');
}

static void append_list(struct buf *out, const struct change *list, size_t count,
                        enum group_kind kind, size_t most)
{
    size_t shown = 0, more = 0;

    for (size_t i = 0; i < count; i++) {
        if (list[i].kind != kind || moved(&list[i], COLUMN_TOTAL) == 0 ||
            (kind == GROUP_PHASE && !is_other_phase(&list[i])))
            continue;
        if (shown == 0)
            buf_printf(out, "\n%-*s%11s%11s%12s%11s%s\n", LABEL_WIDTH, group_kind_name(kind),
                       "before", "now", "change", "now/before",
                       kind == GROUP_PHASE ? "" : "  deliveries, and what changed most");
        if (shown < most)
            append_moved(out, &list[i]);
        more += shown >= most;
        shown++;
    }
    if (more > 0)
        buf_printf(out, "  and %zu more (--by %s)\n", more, group_kind_name(kind));
}

/* The group of a kind that explains most of the change: moved in the same direction. */
static const struct change *most_moved(const struct change *list, size_t count,
                                       enum group_kind kind, double direction)
{
    for (size_t i = 0; i < count; i++)
        if (list[i].kind == kind && moved(&list[i], COLUMN_TOTAL) * direction > 0)
            return &list[i];
    return NULL;
}

static void append_reason(struct buf *out, const struct change *change)
{
    if (change == NULL)
        return;
    buf_printf(out, "; in %s%s%s ", change->name, change->label[0] != '\0' ? " " : "",
               change->label);
    units_pad_change(out, (int64_t)moved(change, COLUMN_TOTAL), 0);
}

/* The phase that changed most, if it did so by more than the deliveries. */
static void append_phase_reason(struct buf *out, const struct change *list, size_t count,
                                double change)
{
    for (size_t i = 0; i < count; i++) {
        if (!is_other_phase(&list[i]))
            continue;
        if (fabs(moved(&list[i], COLUMN_TOTAL)) > fabs(change)) {
            buf_printf(out, "; outside of them %s ", list[i].name);
            units_pad_change(out, (int64_t)moved(&list[i], COLUMN_TOTAL), 0);
        }
        return;
    }
}

static void append_sentence(struct buf *out, const struct change *list, size_t count)
{
    const struct change *all = change_of_all(list, count);
    const double change = all != NULL ? moved(all, COLUMN_TOTAL) : 0;
    size_t part;

    if (all == NULL)
        return;
    part = most_moved_part(all);
    buf_append_string(out, "moved most: ");
    units_pad_change(out, (int64_t)change, 0);
    buf_printf(out, " in deliveries; %s ", part_names[part]);
    units_pad_change(out, (int64_t)moved(all, part_columns[part]), 0);
    append_reason(out, most_moved(list, count, GROUP_VAT, change));
    append_reason(out, most_moved(list, count, GROUP_KIND, change));
    append_phase_reason(out, list, count, change);
    buf_append_byte(out, '\n');
}

static void append_sides(struct buf *out, const struct changes *changes)
{
    buf_printf(out, "before: %s, %" PRIu64 " deliver%s\n", changes->against,
               changes->before.counts.deliveries,
               changes->before.counts.deliveries == 1 ? "y" : "ies");
    buf_printf(out, "now: the %sdeliveries selected, %" PRIu64 "\n",
               changes->is_file ? "" : "other ", changes->now.counts.deliveries);
}

static void text_changes(struct buf *out, const struct changes *changes, const struct change *list,
                         size_t count)
{
    const struct change *all = change_of_all(list, count);

    append_sides(out, changes);
    append_sentence(out, list, count);
    if (all == NULL)
        return;
    buf_printf(out, "\n%-*s%11s%11s%12s%11s%13s\n", LABEL_WIDTH, "", "before", "now", "change",
               "now/before", "per delivery");
    append_deliveries(out, changes, all);
    for (int kind = 0; kind < GROUP_KINDS; kind++) {
        const bool listed = changes->by != NULL
                                ? changes->by[kind]
                                : kind == GROUP_VAT || kind == GROUP_KIND || kind == GROUP_PHASE;

        if (listed && kind != GROUP_ALL)
            append_list(out, list, count, (enum group_kind)kind,
                        changes->by != NULL ? SIZE_MAX : MOVED);
    }
}

/* ---- JSON --------------------------------------------------------------- */

static bool is_count(enum group_column column)
{
    return column == COLUMN_COMPUTE || column == COLUMN_INSTRUCTIONS ||
           column == COLUMN_BLOCK_COST || column == COLUMN_GAS || column == COLUMN_GAS_BURNT;
}

static void json_amount(struct buf *out, const char *name, double value, enum group_column column)
{
    if (is_count(column))
        json_member_integer(out, name, (int64_t)value);
    else
        json_member_seconds(out, name, (int64_t)value);
}

static void json_column(struct buf *out, const struct change *change, enum group_column column)
{
    const struct histogram *before = &change->before->columns[column];
    const struct histogram *now = &change->now->columns[column];

    if ((before->count == 0 && now->count == 0) || column == COLUMN_RATIO)
        return;
    buf_append_string(out, "{\"kind\":\"change\"");
    json_member_text(out, "by", group_kind_name(change->kind));
    json_member_text(out, "name", change->name);
    json_member_text(out, "label", change->label);
    json_member_text(out, "column", group_column_name(column));
    json_member_integer(out, "countBefore", (int64_t)before->count);
    json_member_integer(out, "count", (int64_t)now->count);
    json_amount(out, "totalBefore", (double)before->total, column);
    json_amount(out, "total", (double)now->total, column);
    json_amount(out, "change", (double)now->total - (double)before->total, column);
    json_member_number(out, "ratio",
                       before->total > 0 ? (double)now->total / (double)before->total : NAN);
    json_amount(out, "medianBefore", (double)histogram_quantile(before, 0.5), column);
    json_amount(out, "median", (double)histogram_quantile(now, 0.5), column);
    buf_append(out, "}\n", 2);
}

static void json_against(struct buf *out, const struct changes *changes)
{
    const struct overview_counts *before = &changes->before.counts, *now = &changes->now.counts;

    buf_append_string(out, "{\"kind\":\"against\"");
    json_member_text(out, "against", changes->against);
    json_member_integer(out, "deliveriesBefore", (int64_t)before->deliveries);
    json_member_integer(out, "deliveries", (int64_t)now->deliveries);
    json_member_integer(out, "failedBefore", (int64_t)before->failed);
    json_member_integer(out, "failed", (int64_t)now->failed);
    json_member_seconds(out, "cpuWaitBefore", before->cpu_wait);
    json_member_seconds(out, "cpuWait", now->cpu_wait);
    json_member_seconds(out, "workerCpuWaitBefore", before->worker_cpu_wait);
    json_member_seconds(out, "workerCpuWait", now->worker_cpu_wait);
    buf_append(out, "}\n", 2);
}

static void json_changes(struct buf *out, const struct changes *changes, const struct change *list,
                         size_t count)
{
    json_against(out, changes);
    for (size_t i = 0; i < count; i++) {
        if (changes->by != NULL && !changes->by[list[i].kind])
            continue;
        for (int column = 0; column < GROUP_COLUMNS; column++)
            json_column(out, &list[i], (enum group_column)column);
    }
}

int changes_write(struct changes *changes, bool json, struct error *error)
{
    struct buf out = {0};
    size_t count;
    struct change *list;
    int result;

    if (changes->before.groups.failed || changes->now.groups.failed)
        return error_memory(error, "a summary");
    list = pair_groups(changes, &count);
    if (list == NULL)
        return error_memory(error, "a summary");
    if (json)
        json_changes(&out, changes, list, count);
    else
        text_changes(&out, changes, list, count);
    result = output_flush(&out, error);
    buf_free(&out);
    free(list);
    return result;
}
