/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/json/json_member.h"
#include "base/json/json_text.h"
#include "base/output/output_file.h"
#include "tools/command/commands.h"
#include "tools/command/cost_groups.h"
#include "tools/command/cost_stacks.h"
#include "tools/output/output.h"

/* Print sums as text or JSON lines. Failure stays in `out`. */

enum { COLUMN = 17, SHARE = 8, NUMBER_SIZE = 40 };

/* Formats 12,345; with a sign if `is_signed`. */
static void format_number(char text[NUMBER_SIZE], int64_t number, bool is_signed)
{
    char digits[24];
    const uint64_t size = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
    const int count = snprintf(digits, sizeof digits, "%" PRIu64, size);
    char *at = text;

    if (number < 0 || (is_signed && number > 0))
        *at++ = number < 0 ? '-' : '+';
    for (int i = 0; i < count; i++) {
        if (i > 0 && (count - i) % 3 == 0)
            *at++ = ',';
        *at++ = digits[i];
    }
    *at = '\0';
}

static void cost_text_put_number(struct buf *out, int64_t number, bool known, bool is_signed)
{
    char text[NUMBER_SIZE] = "-";

    if (known)
        format_number(text, number, is_signed);
    units_pad(out, text, COLUMN);
}

static void put_share(struct buf *out, int64_t part, int64_t all)
{
    char text[NUMBER_SIZE] = "-";

    if (all != 0)
        snprintf(text, sizeof text, "%.2f", 100 * (double)part / (double)all);
    units_pad(out, text, SHARE);
}

/* Columns that have a number. */
struct columns {
    bool instructions, calls, total;
};

static struct columns columns_with_numbers(const struct cost_groups *groups)
{
    struct columns columns = {0};

    for (size_t i = 0; i < groups->count; i++) {
        const struct cost_sums *sums = &groups->groups[i].sides[COST_NOW];

        columns.instructions |= sums->has_instructions;
        columns.calls |= sums->has_calls;
        columns.total |= sums->has_total;
    }
    return columns;
}

static void put_source_place(struct buf *out, const struct cost_group *group)
{
    if (group->file[0] == '\0')
        return;
    buf_printf(out, "%s%s", group->function[0] != '\0' ? " (" : "", group->file);
    if (group->line != COST_NONE)
        buf_printf(out, ":%" PRId64, group->line);
    if (group->function[0] != '\0')
        buf_append_byte(out, ')');
}

static void cost_text_put_name(struct buf *out, const struct cost_group *group, enum cost_by by)
{
    const char *vat = group->vat[0] != '\0' ? group->vat : group->vat_id;

    buf_append_string(out, "  ");
    switch (by) {
    case COST_BY_FUNCTION:
        buf_append_string(out, group->function);
        put_source_place(out, group);
        break;
    case COST_BY_LINE:
        buf_append_string(out, group->file[0] != '\0' ? "" : "(no line)");
        put_source_place(out, group);
        break;
    case COST_BY_DELIVERY:
        if (group->crank_num != COST_NONE)
            buf_printf(out, "c%" PRId64 " ", group->crank_num);
        if (group->delivery_num != COST_NONE)
            buf_printf(out, "d%" PRId64 " ", group->delivery_num);
        __attribute__((fallthrough));
    case COST_BY_METHOD:
        buf_printf(out, "%s %s", vat, group->method[0] != '\0' ? group->method : "?");
        break;
    case COST_BY_VAT:
        buf_append_string(out, vat);
        break;
    }
    buf_append_byte(out, '\n');
}

/* ---- one profile ---- */

static void put_group(struct buf *out, const struct cost_groups *groups, struct columns columns,
                      const struct cost_group *group)
{
    const struct cost_sums *sums = &group->sides[COST_NOW];

    cost_text_put_number(out, sums->self, true, false);
    put_share(out, sums->self, groups->all[COST_NOW].self);
    if (columns.total)
        cost_text_put_number(out, sums->total, sums->has_total, false);
    if (columns.instructions)
        cost_text_put_number(out, sums->self_instructions, sums->has_instructions, false);
    if (columns.calls)
        cost_text_put_number(out, sums->calls, sums->has_calls, false);
    cost_text_put_name(out, group, groups->by);
}

static void put_heading(struct buf *out, const struct cost_groups *groups, struct columns columns)
{
    char heading[NUMBER_SIZE];

    snprintf(heading, sizeof heading, "%s%s", columns.total ? "self " : "",
             cost_unit_names[groups->unit]);
    units_pad(out, heading, COLUMN);
    units_pad(out, "%", SHARE);
    if (columns.total)
        units_pad(out, "total", COLUMN);
    if (columns.instructions)
        units_pad(out, "instructions", COLUMN);
    if (columns.calls)
        units_pad(out, "calls", COLUMN);
    buf_printf(out, "  %s\n", cost_by_names[groups->by]);
}

/* ---- two that are compared ---- */

static void put_difference(struct buf *out, const struct cost_groups *groups,
                           const struct cost_group *group)
{
    const struct cost_sums *now = &group->sides[COST_NOW], *before = &group->sides[COST_BEFORE];

    cost_text_put_number(out, cost_group_difference(group), true, true);
    cost_text_put_number(out, before->self, true, false);
    cost_text_put_number(out, now->self, true, false);
    cost_text_put_name(out, group, groups->by);
}

static void put_comparison_heading(struct buf *out, const struct cost_groups *groups)
{
    units_pad(out, "difference", COLUMN);
    units_pad(out, "before", COLUMN);
    units_pad(out, "now", COLUMN);
    buf_printf(out, "  %s\n", cost_by_names[groups->by]);
}

/* Counts the groups with a difference; the others are sorted last. */
static size_t count_different(const struct cost_groups *groups)
{
    size_t count = 0;

    while (count < groups->count && cost_group_difference(&groups->groups[count]) != 0)
        count++;
    return count;
}

/* ---- */

static void put_sums_text(struct buf *out, const struct cost_groups *groups)
{
    struct cost_group all = {.vat_id = "", .vat = "all", .method = "", .function = "", .file = ""};
    char text[NUMBER_SIZE];

    memcpy(all.sides, groups->all, sizeof all.sides);
    format_number(text, all.sides[COST_NOW].self, false);
    buf_printf(out, "\n%s %s", text, cost_unit_names[groups->unit]);
    if (all.sides[COST_NOW].has_instructions) {
        format_number(text, all.sides[COST_NOW].self_instructions, false);
        buf_printf(out, ", %s instructions", text);
    }
    if (groups->compared) {
        format_number(text, all.sides[COST_BEFORE].self, false);
        buf_printf(out, "; before %s", text);
        format_number(text, cost_group_difference(&all), true);
        buf_printf(out, ", difference %s", text);
    }
    buf_append_byte(out, '\n');
}

/* Prints the first `most` groups with a heading, and a line if there are more. */
static void cost_render_text(struct buf *out, const struct cost_groups *groups, size_t most)
{
    const size_t count = groups->compared ? count_different(groups) : groups->count;
    const struct columns columns = columns_with_numbers(groups);

    if (groups->compared)
        put_comparison_heading(out, groups);
    else
        put_heading(out, groups, columns);
    for (size_t i = 0; i < count && i < most; i++) {
        if (groups->compared)
            put_difference(out, groups, &groups->groups[i]);
        else
            put_group(out, groups, columns, &groups->groups[i]);
    }
    put_sums_text(out, groups);
    if (count > most)
        buf_printf(out, "%zu more; --top %zu shows all\n", count - most, count);
    if (groups->compared && groups->count > count)
        buf_printf(out, "%zu cost the same\n", groups->count - count);
}

static void cost_json_put_number(struct buf *out, const char *name, const char *suffix,
                                 int64_t number, bool known)
{
    buf_printf(out, ",\"%s%s\":", name, suffix);
    if (known)
        json_text_integer(out, number);
    else
        buf_append_string(out, "null");
}

/* Native functions have numbers in one unit only. */
static void put_sums_json(struct buf *out, const struct cost_sums *sums, enum cost_unit unit,
                          const char *suffix)
{
    const bool native = unit == COST_INSTRUCTIONS, is_computrons = unit == COST_COMPUTRONS;

    cost_json_put_number(out, "calls", suffix, sums->calls, sums->has_calls);
    cost_json_put_number(out, "self", suffix, sums->self, is_computrons);
    cost_json_put_number(out, "total", suffix, sums->total, sums->has_total && is_computrons);
    cost_json_put_number(out, "selfInstructions", suffix,
                         native ? sums->self : sums->self_instructions,
                         native || sums->has_instructions);
    cost_json_put_number(out, "totalInstructions", suffix,
                         native ? sums->total : sums->total_instructions,
                         (native || sums->has_instructions) && sums->has_total);
    if (unit != COST_NANOSECONDS && unit != COST_BLOCK_COST)
        return;
    cost_json_put_number(out, unit == COST_NANOSECONDS ? "selfNanoseconds" : "selfBlockCost",
                         suffix, sums->self, true);
    cost_json_put_number(out, unit == COST_NANOSECONDS ? "totalNanoseconds" : "totalBlockCost",
                         suffix, sums->total, sums->has_total);
}

static void put_group_members(struct buf *out, const struct cost_group *group, enum cost_by by)
{
    if (by >= COST_BY_VAT) {
        json_member_text_or_null(out, "vatID", group->vat_id);
        json_member_text_or_null(out, "vat", group->vat);
    }
    if (by >= COST_BY_METHOD)
        json_member_text_or_null(out, "method", group->method);
    if (by == COST_BY_DELIVERY) {
        cost_json_put_number(out, "crankNum", "", group->crank_num, group->crank_num != COST_NONE);
        cost_json_put_number(out, "deliveryNum", "", group->delivery_num,
                             group->delivery_num != COST_NONE);
    }
    if (by == COST_BY_FUNCTION)
        json_member_text_or_null(out, "function", group->function);
    if (by <= COST_BY_LINE) {
        json_member_text_or_null(out, "file", group->file);
        cost_json_put_number(out, "line", "", group->line, group->line != COST_NONE);
    }
}

static void cost_render_json(struct buf *out, const struct cost_groups *groups, size_t most)
{
    for (size_t i = 0; i < groups->count && i < most; i++) {
        const struct cost_group *group = &groups->groups[i];

        buf_printf(out, "{\"kind\":\"%s\"", cost_by_names[groups->by]);
        put_group_members(out, group, groups->by);
        put_sums_json(out, &group->sides[COST_NOW], groups->unit, "");
        if (groups->compared) {
            put_sums_json(out, &group->sides[COST_BEFORE], groups->unit, "Before");
            cost_json_put_number(out, "difference", "", cost_group_difference(group), true);
        }
        buf_append_string(out, "}\n");
    }
}

enum { SHOWN = 20 };

struct profile_report {
    const struct options *options;
    enum cost_side side; /* that is read */
    struct cost_groups groups;
    struct cost_stacks stacks;
    uint64_t records, chosen;
    bool is_folded; /* a file had folded stacks */
};

static bool is_record_chosen(const struct selection *selection, const struct cost_record *record)
{
    const struct model_delivery delivery = {
        .vat_id = record->vat_id,
        .vat_name = record->vat,
        .kind = record->method,
        .method = record->method,
        .crank_num = record->crank_num == COST_NONE ? MODEL_NONE : record->crank_num,
        .block_height = MODEL_NONE,
        .start = MODEL_NONE,
    };

    return selection_takes(selection, &delivery);
}

static int on_profile_record(void *context, const struct cost_record *record, struct error *error)
{
    struct profile_report *report = context;

    report->records++;
    report->is_folded |= record->kind == COST_STACK;
    if (!is_record_chosen(&report->options->selection, record))
        return 0;
    if (report->chosen > 0 && record->unit != report->groups.unit)
        return error_set(error, ERROR_INPUT,
                         "profiles are in computrons, those by native function in instructions or "
                         "block cost or, from traces, in nanoseconds: give one kind at a time");
    report->groups.unit = report->stacks.unit = record->unit;
    report->chosen++;
    if (cost_groups_add(&report->groups, report->side, record, error) != 0)
        return -1;
    return cost_stacks_add(&report->stacks, report->side, record, error);
}

static int profile_report_read_all(struct profile_report *report, struct error *error)
{
    const struct options *options = report->options;

    for (char *const *file = options->files; *file != NULL; file++)
        if (cost_file_read(*file, on_profile_record, report, error) != 0)
            return -1;
    report->side = COST_BEFORE;
    if (options->against != NULL &&
        cost_file_read(options->against, on_profile_record, report, error) != 0)
        return -1;
    if (report->records == 0)
        return error_set(error, ERROR_INPUT, "%s: no deliveries in this profile",
                         options->files[0]);
    return 0;
}

/* Fails if the files lack what the options ask for. */
static int check_profile(const struct profile_report *report, struct error *error)
{
    const struct options *options = report->options;
    const char *file = options->files[0];

    if (report->is_folded && report->groups.count == 0 && options->cost_by == COST_BY_LINE)
        return error_set(error, ERROR_INPUT,
                         "%s: folded stacks have no lines; --by line needs what --profile writes",
                         file);
    if (!report->is_folded && (options->folded || options->flame != NULL))
        return error_set(error, ERROR_INPUT,
                         "%s: no stacks in it; --folded and --flame need what --profile-folded "
                         "writes",
                         file);
    return 0;
}

static int write_flame(const struct profile_report *report, struct error *error)
{
    struct buf svg = {0};
    int result = cost_stacks_put_flame(&report->stacks, &svg, error);

    if (result == 0)
        result = output_file_write_whole(report->options->flame, "the flame graph", &svg, error);
    buf_free(&svg);
    return result;
}

static int profile_report_print(struct profile_report *report, struct error *error)
{
    const struct options *options = report->options;
    const size_t most = options->top > 0 ? options->top : options->json ? SIZE_MAX : SHOWN;
    struct buf out = {0};
    int result = 0;

    cost_groups_sort(&report->groups);
    if (options->folded)
        result = cost_stacks_put_folded(&report->stacks, &out, error);
    else if (options->json)
        cost_render_json(&out, &report->groups, most);
    else if (options->flame == NULL)
        cost_render_text(&out, &report->groups, most);
    if (result == 0)
        result = output_flush(&out, error);
    buf_free(&out);
    return result;
}

int profile_report_run(const struct options *options, struct error *error)
{
    const bool compared = options->against != NULL;
    struct profile_report report = {
        .options = options,
        .groups = {.by = options->cost_by, .compared = compared},
        .stacks = {.compared = compared},
    };
    int result = profile_report_read_all(&report, error);

    if (result == 0)
        result = check_profile(&report, error);
    if (result == 0 && options->flame != NULL)
        result = write_flame(&report, error);
    if (result == 0)
        result = profile_report_print(&report, error);
    if (result == 0)
        selection_explain(&options->selection, report.chosen, report.records);
    cost_groups_free(&report.groups);
    cost_stacks_free(&report.stacks);
    return result;
}
