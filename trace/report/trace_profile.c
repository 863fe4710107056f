/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/profile/profile_write.h"
#include "trace/report/trace_report.h"

/* A trace's calls as a profile: of all of them, whose deliveries are functions that call the
 * others, or of one delivery. */
struct making {
    const struct trace_report *report;
    struct profile profile;
    uint32_t *functions; /* by number: its index in the profile and 1 */
    uint32_t *nodes;     /* by node of the tree: its node in the profile */
    struct profile_span *spans;
};

static int64_t cost_of(const struct trace_report *report, uint64_t ticks)
{
    return (int64_t)(trace_clock_duration(&report->clock, ticks) + 0.5);
}

static bool start(struct making *making, const struct trace_report *report)
{
    *making = (struct making){
        .report = report,
        .functions = calloc(CALL_TREE_GROUPS + report->delivery_count, sizeof *making->functions),
        .nodes = calloc(report->tree->count, sizeof *making->nodes),
    };
    return making->functions != NULL && making->nodes != NULL;
}

static void finish(struct making *making)
{
    profile_close(&making->profile);
    free(making->functions);
    free(making->nodes);
    free(making->spans);
}

static bool open_profile(struct making *making)
{
    return profile_init(&making->profile, making->report->clock.kind == TRACE_CLOCK_COMPUTRONS
                                              ? PROFILE_COMPUTRONS
                                              : PROFILE_NANOSECONDS);
}

static const char *file_name(const char *path)
{
    const char *const slash = strrchr(path, '/');

    return slash != NULL ? slash + 1 : path;
}

static bool add_function(struct making *making, uint32_t number)
{
    const struct traced_function *const of = trace_report_function(making->report, number);
    struct profile_function *const function = profile_add_function(&making->profile);

    if (function == NULL)
        return false;
    *function = (struct profile_function){
        .name = trace_report_name(making->report, number),
        .module = number < CALL_TREE_GROUPS ? "?" : NULL,
    };
    making->functions[number] = (uint32_t)making->profile.function_count;
    if (of == NULL)
        return true;
    function->module = file_name(of->module);
    function->build_id = of->build_id[0] != '\0' ? of->build_id : NULL;
    function->file = of->source;
    function->line = of->line;
    function->inlined = of->inlined;
    return true;
}

/* Nodes come behind their callers. */
static bool add_node(struct making *making, size_t number, size_t caller)
{
    const struct call_node *const from = &making->report->tree->nodes[number];
    struct profile_node *node;
    size_t added;

    if (making->functions[from->function] == 0 && !add_function(making, from->function))
        return false;
    added = profile_add_node(&making->profile, caller, making->functions[from->function] - 1);
    if (added == 0)
        return false;
    making->nodes[number] = (uint32_t)added;
    node = &making->profile.nodes[added];
    node->calls = (int64_t)from->calls;
    node->self.of[0] = cost_of(making->report, from->self);
    return true;
}

/* ---- all calls ---- */

static bool add_all(struct making *making)
{
    const struct call_tree *const tree = making->report->tree;

    for (size_t i = 1; i < tree->count; i++)
        if (!add_node(making, i, making->nodes[tree->nodes[i].parent]))
            return false;
    return true;
}

static int make_all(struct making *making, const struct trace_report *report, struct error *error)
{
    if (!start(making, report) || !open_profile(making) || !add_all(making))
        return error_memory(error, "a report");
    return profile_sum(&making->profile, error);
}

int trace_report_put_folded(struct buf *out, const struct trace_report *report, struct error *error)
{
    struct making making;
    int result = make_all(&making, report, error);

    if (result == 0)
        result = profile_put_folded(out, &making.profile, NULL, PROFILE_FRAME_NAME, error);
    finish(&making);
    return result;
}

int trace_report_put_callgrind(struct buf *out, const struct trace_report *report,
                               struct error *error)
{
    const enum trace_clock_kind clock = report->clock.kind;
    struct making making;
    int result = make_all(&making, report, error);

    if (result == 0)
        result = profile_put_callgrind(
            out, &making.profile,
            clock == TRACE_CLOCK_TSC ? "Nanoseconds" : trace_clock_names[clock], error);
    finish(&making);
    return result;
}

/* ---- deliveries ---- */

/* Sorts the nodes by delivery: those of delivery i end at ends[i]. False without memory. */
static bool sort_nodes(const struct trace_report *report, uint32_t *nodes, size_t *ends)
{
    const struct call_tree *const tree = report->tree;
    uint32_t *const group_of = calloc(tree->count, sizeof *group_of); /* from 1 on; 0: none */
    size_t sum = 0;

    if (group_of == NULL)
        return false;
    for (size_t i = 1; i < tree->count; i++) {
        const uint32_t function = tree->nodes[i].function;

        group_of[i] = function >= CALL_TREE_GROUPS ? function - CALL_TREE_GROUPS + 1
                                                   : group_of[tree->nodes[i].parent];
        if (function < CALL_TREE_GROUPS && group_of[i] > 0)
            ends[group_of[i] - 1]++;
    }
    for (size_t i = 0; i < report->delivery_count; i++) {
        sum += ends[i];
        ends[i] = sum - ends[i];
    }
    for (size_t i = 1; i < tree->count; i++)
        if (tree->nodes[i].function < CALL_TREE_GROUPS && group_of[i] > 0)
            nodes[ends[group_of[i] - 1]++] = (uint32_t)i;
    free(group_of);
    return true;
}

static bool add_spans(struct making *making, size_t delivery)
{
    const struct call_spans *const spans = making->report->spans;
    const struct trace_clock *const clock = &making->report->clock;
    const uint64_t begin = trace_clock_ticks(clock, making->report->deliveries[delivery].begin);
    const struct call_span_list *const list =
        spans != NULL && delivery < spans->list_count ? &spans->lists[delivery] : NULL;
    const size_t count = list != NULL ? list->count : 0;

    free(making->spans);
    making->spans = calloc(count + 1, sizeof *making->spans);
    if (making->spans == NULL)
        return false;
    for (size_t i = 0; i < count; i++) {
        const uint64_t since = (list->spans[i].begin - begin) & TRACE_TIME_MASK;

        making->spans[i] = (struct profile_span){
            .node = making->nodes[list->spans[i].node],
            .begin = since > TRACE_TIME_MASK / 2 ? 0 : cost_of(making->report, since),
            .length = cost_of(making->report, list->spans[i].length),
        };
    }
    making->profile.spans = making->spans;
    making->profile.span_count = count;
    making->profile.spans_left_out = list != NULL ? list->left_out : 0;
    return true;
}

static bool add_delivery(struct making *making, const uint32_t *nodes, size_t count)
{
    const struct call_tree *const tree = making->report->tree;

    for (size_t i = 0; i < count; i++)
        making->functions[tree->nodes[nodes[i]].function] = 0;
    for (size_t i = 0; i < count; i++) {
        const uint32_t parent = tree->nodes[nodes[i]].parent;
        const bool outermost = tree->nodes[parent].function >= CALL_TREE_GROUPS;

        if (!add_node(making, nodes[i], outermost ? 0 : making->nodes[parent]))
            return false;
    }
    return true;
}

static int put_delivery(struct buf *out, struct making *making, size_t delivery,
                        const uint32_t *nodes, size_t count, struct error *error)
{
    const struct archive_delivery *const of = &making->report->deliveries[delivery];
    const struct profile_delivery head = {
        .vat_id = of->vat_id,
        .vat = of->vat,
        .method = of->method,
        .crank_num = of->crank_num >= 0 ? of->crank_num : PROFILE_NO_CRANK,
        .delivery_num = of->delivery_num,
    };
    int result = -1;

    if (count == 0)
        return 0;
    if (!open_profile(making) || !add_delivery(making, nodes, count) ||
        !add_spans(making, delivery))
        error_memory(error, "a report");
    else if (profile_sum(&making->profile, error) == 0)
        result = profile_put_lines(out, &making->profile, &head, error);
    profile_close(&making->profile);
    return result;
}

int trace_report_put_deliveries(struct buf *out, const struct trace_report *report,
                                struct error *error)
{
    uint32_t *const nodes = calloc(report->tree->count, sizeof *nodes);
    size_t *const ends = calloc(report->delivery_count + 1, sizeof *ends);
    struct making making;
    int result = 0;

    if (!start(&making, report) || nodes == NULL || ends == NULL ||
        !sort_nodes(report, nodes, ends))
        result = error_memory(error, "a report");
    for (size_t i = 0; result == 0 && i < report->delivery_count; i++) {
        const size_t first = i > 0 ? ends[i - 1] : 0;

        result = put_delivery(out, &making, i, nodes + first, ends[i] - first, error);
    }
    finish(&making);
    free(nodes);
    free(ends);
    return result;
}
