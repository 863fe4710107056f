/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/command/profile/profile_report.h"

#include <stdint.h>

#include "base/output/output_file.h"
#include "tools/command/profile/cost_groups.h"
#include "tools/command/profile/cost_render.h"
#include "tools/command/profile/cost_stacks.h"
#include "tools/output/output.h"

enum { SHOWN = 20 };

struct profile_report {
    const struct options *options;
    enum cost_side side; /* that is read */
    struct cost_groups groups;
    struct cost_stacks stacks;
    uint64_t records, chosen;
    bool is_folded; /* a file had folded stacks */
};

static bool is_chosen(const struct selection *selection, const struct cost_record *record)
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

static int on_record(void *context, const struct cost_record *record, struct error *error)
{
    struct profile_report *report = context;

    report->records++;
    report->is_folded |= record->kind == COST_STACK;
    if (!is_chosen(&report->options->selection, record))
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
        if (cost_file_read(*file, on_record, report, error) != 0)
            return -1;
    report->side = COST_BEFORE;
    if (options->against != NULL && cost_file_read(options->against, on_record, report, error) != 0)
        return -1;
    if (report->records == 0)
        return error_set(error, ERROR_INPUT, "%s: there is no delivery in this profile",
                         options->files[0]);
    return 0;
}

/* What is asked of a file that does not have it. */
static int check(const struct profile_report *report, struct error *error)
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
        result = check(&report, error);
    if (result == 0 && options->flame != NULL)
        result = write_flame(&report, error);
    if (result == 0)
        result = profile_report_print(&report, error);
    if (result == 0)
        selection_explain_none(report.chosen, report.records);
    cost_groups_free(&report.groups);
    cost_stacks_free(&report.stacks);
    return result;
}
