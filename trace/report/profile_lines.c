/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/json/json_text.h"
#include "trace/report/profile.h"

/* The nodes of one delivery at a time, in their order. */
struct delivery_lines {
    const struct trace_profile *profile;
    const struct archive_delivery *delivery;
    const struct call_span_list *spans; /* NULL: none */
    uint32_t *nodes;                    /* of the tree */
    size_t count;
    uint32_t *places;    /* by node of the tree: where it is among `nodes` */
    uint32_t *functions; /* the delivery's, by number */
    size_t function_count;
    uint32_t *function_at; /* by number: where it is among `functions`, if `seen` says so */
    uint32_t *seen;        /* by number: the delivery that had it last, from 1 on */
    struct call_sum *sums; /* by place in `functions` */
    uint32_t serial;       /* of the delivery, from 1 on */
};

static int64_t nanoseconds(const struct delivery_lines *lines, uint64_t ticks)
{
    return (int64_t)(trace_clock_duration(&lines->profile->clock, ticks) + 0.5);
}

static bool counts_computrons(const struct delivery_lines *lines)
{
    return lines->profile->clock.kind == TRACE_CLOCK_COMPUTRONS;
}

/* ---- which nodes are whose ---- */

/* Sorts all nodes by delivery; ends[i] becomes where those of delivery i end. 0, or -1 without
 * memory. */
static int sort_nodes(const struct trace_profile *profile, uint32_t *nodes, size_t *ends)
{
    const struct call_tree *const tree = profile->tree;
    uint32_t *const group_of = calloc(tree->count, sizeof *group_of); /* from 1 on; 0: none */
    size_t sum = 0;

    if (group_of == NULL)
        return -1;
    for (size_t i = 1; i < tree->count; i++) {
        const uint32_t function = tree->nodes[i].function;

        group_of[i] = function >= CALL_TREE_GROUPS ? function - CALL_TREE_GROUPS + 1
                                                   : group_of[tree->nodes[i].parent];
        if (function < CALL_TREE_GROUPS && group_of[i] > 0)
            ends[group_of[i] - 1]++;
    }
    for (size_t i = 0; i < profile->delivery_count; i++) {
        sum += ends[i];
        ends[i] = sum - ends[i];
    }
    for (size_t i = 1; i < tree->count; i++)
        if (tree->nodes[i].function < CALL_TREE_GROUPS && group_of[i] > 0)
            nodes[ends[group_of[i] - 1]++] = (uint32_t)i;
    free(group_of);
    return 0;
}

/* ---- sums ---- */

static uint32_t place_of_function(struct delivery_lines *lines, uint32_t number)
{
    if (lines->seen[number] != lines->serial) {
        lines->seen[number] = lines->serial;
        lines->function_at[number] = (uint32_t)lines->function_count;
        lines->sums[lines->function_count] = (struct call_sum){.function = number};
        lines->functions[lines->function_count++] = number;
    }
    return lines->function_at[number];
}

static bool is_recursive(const struct call_tree *tree, size_t node)
{
    const uint32_t function = tree->nodes[node].function;

    for (size_t at = tree->nodes[node].parent;
         tree->nodes[at].function < CALL_TREE_GROUPS && at != 0; at = tree->nodes[at].parent)
        if (tree->nodes[at].function == function)
            return true;
    return false;
}

static void add_up(struct delivery_lines *lines)
{
    const struct call_tree *const tree = lines->profile->tree;

    lines->function_count = 0;
    for (size_t i = 0; i < lines->count; i++) {
        const struct call_node *const node = &tree->nodes[lines->nodes[i]];
        struct call_sum *const sum = &lines->sums[place_of_function(lines, node->function)];

        lines->places[lines->nodes[i]] = (uint32_t)i;
        sum->calls += node->calls;
        sum->self += node->self;
        if (!is_recursive(tree, lines->nodes[i]))
            sum->total += node->total;
    }
}

/* ---- lines ---- */

static void profile_lines_put_text(struct buf *out, const char *name, const char *text)
{
    buf_printf(out, ",\"%s\":", name);
    json_text_string(out, text, strlen(text));
}

static void profile_lines_put_head(struct buf *out, const char *kind,
                                   const struct archive_delivery *delivery)
{
    buf_printf(out, "{\"kind\":\"%s\"", kind);
    profile_lines_put_text(out, "vatID", delivery->vat_id);
    profile_lines_put_text(out, "vat", delivery->vat);
    profile_lines_put_text(out, "method", delivery->method);
    if (delivery->crank_num < 0)
        buf_append_string(out, ",\"crankNum\":null");
    else
        buf_printf(out, ",\"crankNum\":%" PRId64, delivery->crank_num);
    buf_printf(out, ",\"deliveryNum\":%" PRId64, delivery->delivery_num);
}

static const char *module_of(const struct delivery_lines *lines, uint32_t number)
{
    const char *path = "?", *slash;

    if (number >= 1 && number <= lines->profile->function_count)
        path = lines->profile->functions[number - 1].module;
    slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

static void put_source(struct buf *out, const struct profile_function *function)
{
    if (function == NULL || function->source == NULL) {
        buf_append_string(out, ",\"file\":null,\"line\":null");
        return;
    }
    profile_lines_put_text(out, "file", function->source);
    buf_printf(out, ",\"line\":%d", function->line);
}

static void put_function(struct buf *out, const struct delivery_lines *lines,
                         const struct call_sum *sum)
{
    profile_lines_put_head(out, "function", lines->delivery);
    profile_lines_put_text(out, "function", profile_name(lines->profile, sum->function));
    profile_lines_put_text(out, "module", module_of(lines, sum->function));
    put_source(out, profile_function_of(lines->profile, sum->function));
    if (counts_computrons(lines)) {
        buf_printf(out,
                   ",\"calls\":%" PRIu64 ",\"self\":%" PRIu64 ",\"total\":%" PRIu64
                   ",\"selfInstructions\":null,\"totalInstructions\":null}\n",
                   sum->calls, sum->self, sum->total);
        return;
    }
    buf_printf(out,
               ",\"calls\":%" PRIu64 ",\"self\":null,\"total\":null,"
               "\"selfInstructions\":null,\"totalInstructions\":null,\"selfNanoseconds\":%" PRId64
               ",\"totalNanoseconds\":%" PRId64 "}\n",
               sum->calls, nanoseconds(lines, sum->self), nanoseconds(lines, sum->total));
}

static void put_node(struct buf *out, const struct delivery_lines *lines, size_t number)
{
    const struct call_tree *const tree = lines->profile->tree;
    const struct call_node *const node = &tree->nodes[number];

    buf_append_byte(out, '[');
    if (tree->nodes[node->parent].function >= CALL_TREE_GROUPS)
        buf_append_string(out, "null");
    else
        buf_printf(out, "%" PRIu32, lines->places[node->parent]);
    buf_printf(out, ",%" PRIu32 ",%" PRIu64, lines->function_at[node->function], node->calls);
    if (counts_computrons(lines))
        buf_printf(out, ",%" PRIu64 ",null,null]", node->self);
    else
        buf_printf(out, ",null,null,%" PRId64 "]", nanoseconds(lines, node->self));
}

/* Where the events' clock stood when the worker had the delivery, as events have it. */
static uint64_t begin_of(const struct delivery_lines *lines)
{
    return trace_clock_ticks(&lines->profile->clock, lines->delivery->begin);
}

static void put_spans(struct buf *out, const struct delivery_lines *lines)
{
    const struct call_span_list *const list = lines->spans;

    buf_append_string(out, ",\"spans\":[");
    for (size_t i = 0; list != NULL && i < list->count; i++) {
        const struct call_span *const span = &list->spans[i];
        const uint64_t since = (span->begin - begin_of(lines)) & TRACE_TIME_MASK;

        buf_printf(out, "%s[%" PRIu32 ",%" PRId64 ",%" PRId64 "]", i > 0 ? "," : "",
                   lines->places[span->node],
                   since > TRACE_TIME_MASK / 2 ? 0 : nanoseconds(lines, since),
                   nanoseconds(lines, span->length));
    }
    buf_printf(out, "],\"spansLeftOut\":%" PRIu64, list != NULL ? list->left_out : 0);
}

static void put_tree(struct buf *out, const struct delivery_lines *lines)
{
    profile_lines_put_head(out, "tree", lines->delivery);
    buf_append_string(out, ",\"functions\":[");
    for (size_t i = 0; i < lines->function_count; i++) {
        const char *const name = profile_name(lines->profile, lines->functions[i]);
        const char *const module = module_of(lines, lines->functions[i]);

        buf_append_string(out, i > 0 ? ",[" : "[");
        json_text_string(out, name, strlen(name));
        buf_append_byte(out, ',');
        json_text_string(out, module, strlen(module));
        buf_append_string(out, ",null]");
    }
    buf_append_string(out, "],\"nodes\":[");
    for (size_t i = 0; i < lines->count; i++) {
        if (i > 0)
            buf_append_byte(out, ',');
        put_node(out, lines, lines->nodes[i]);
    }
    buf_append_byte(out, ']');
    put_spans(out, lines);
    buf_append_string(out, "}\n");
}

static void put_delivery(struct buf *out, struct delivery_lines *lines)
{
    if (lines->count == 0)
        return;
    add_up(lines);
    for (size_t i = 0; i < lines->function_count; i++)
        if (lines->sums[i].calls > 0 || lines->sums[i].self > 0)
            put_function(out, lines, &lines->sums[i]);
    put_tree(out, lines);
}

static void put_deliveries(struct buf *out, struct delivery_lines *lines, uint32_t *nodes,
                           const size_t *ends)
{
    const struct call_spans *const spans = lines->profile->spans;

    for (size_t i = 0; i < lines->profile->delivery_count; i++) {
        const size_t first = i > 0 ? ends[i - 1] : 0;

        lines->delivery = &lines->profile->deliveries[i];
        lines->spans = spans != NULL && i < spans->list_count ? &spans->lists[i] : NULL;
        lines->nodes = nodes + first;
        lines->count = ends[i] - first;
        lines->serial = (uint32_t)i + 1;
        put_delivery(out, lines);
    }
}

int profile_put_lines(struct buf *out, const struct trace_profile *profile, struct error *error)
{
    uint32_t *const nodes = calloc(profile->tree->count, sizeof *nodes);
    size_t *const ends = calloc(profile->delivery_count + 1, sizeof *ends);
    struct delivery_lines lines = {
        .profile = profile,
        .places = calloc(profile->tree->count, sizeof *lines.places),
        .functions = calloc(CALL_TREE_GROUPS, sizeof *lines.functions),
        .function_at = calloc(CALL_TREE_GROUPS, sizeof *lines.function_at),
        .seen = calloc(CALL_TREE_GROUPS, sizeof *lines.seen),
        .sums = calloc(CALL_TREE_GROUPS, sizeof *lines.sums),
    };
    const bool memory = nodes != NULL && ends != NULL && lines.places != NULL &&
                        lines.functions != NULL && lines.function_at != NULL &&
                        lines.seen != NULL && lines.sums != NULL &&
                        sort_nodes(profile, nodes, ends) == 0;

    if (memory)
        put_deliveries(out, &lines, nodes, ends);
    free(nodes);
    free(ends);
    free(lines.places);
    free(lines.functions);
    free(lines.function_at);
    free(lines.seen);
    free(lines.sums);
    return !memory || buf_failed(out) ? error_memory(error, "a profile") : 0;
}
