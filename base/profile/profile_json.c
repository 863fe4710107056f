/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/json/json_text.h"
#include "base/profile/profile_write.h"

const char *const profile_unit_names[PROFILE_UNITS] = {
    [PROFILE_COMPUTRONS] = "computrons",
    [PROFILE_INSTRUCTIONS] = "instructions",
    [PROFILE_NANOSECONDS] = "nanoseconds",
    [PROFILE_BLOCK_COST] = "blockCost",
};

/* The members for the cost of a function or a line. Those of the first two units are always
 * written. */
static const struct unit_members {
    const char *self, *total;
} members[PROFILE_UNITS] = {
    [PROFILE_COMPUTRONS] = {"self", "total"},
    [PROFILE_INSTRUCTIONS] = {"selfInstructions", "totalInstructions"},
    [PROFILE_NANOSECONDS] = {"selfNanoseconds", "totalNanoseconds"},
    [PROFILE_BLOCK_COST] = {"selfBlockCost", "totalBlockCost"},
};

/* ---- members ---- */

static void profile_json_put_string(struct buf *out, const char *text)
{
    if (text == NULL)
        buf_append_string(out, "null");
    else
        json_text_string(out, text, strlen(text));
}

static void profile_json_put_text(struct buf *out, const char *name, const char *text)
{
    buf_printf(out, ",\"%s\":", name);
    profile_json_put_string(out, text);
}

/* NULL: null. */
static void profile_json_put_number(struct buf *out, const char *name, const int64_t *number)
{
    if (number != NULL)
        buf_printf(out, ",\"%s\":%" PRId64, name, *number);
    else
        buf_printf(out, ",\"%s\":null", name);
}

/* Returns the cost in that unit; NULL if the profile has another unit. */
static const int64_t *cost_in(const struct profile *profile, const struct profile_cost *cost,
                              enum profile_unit unit)
{
    for (size_t i = 0; i < profile->unit_count; i++)
        if (profile->units[i] == unit)
            return &cost->of[i];
    return NULL;
}

/* `total`: NULL for a line. */
static void put_costs(struct buf *out, const struct profile *profile,
                      const struct profile_cost *self, const struct profile_cost *total)
{
    for (enum profile_unit unit = 0; unit < PROFILE_UNITS; unit++) {
        const int64_t *const cost = cost_in(profile, self, unit);

        if (cost == NULL && unit > PROFILE_INSTRUCTIONS)
            continue;
        profile_json_put_number(out, members[unit].self, cost);
        if (total != NULL)
            profile_json_put_number(out, members[unit].total, cost_in(profile, total, unit));
    }
}

static void put_source(struct buf *out, const char *file, int64_t line)
{
    profile_json_put_text(out, "file", file);
    profile_json_put_number(out, "line", file != NULL ? &line : NULL);
}

/* ---- lines of a delivery ---- */

/* Appends the members that follow "kind" in each of a delivery's lines. */
static void put_delivery(struct buf *out, const struct profile_delivery *delivery)
{
    const bool has_crank = delivery->crank_num != PROFILE_NO_CRANK;

    profile_json_put_text(out, "vatID", delivery->vat_id);
    profile_json_put_text(out, "vat", delivery->vat);
    profile_json_put_text(out, "method", delivery->method);
    profile_json_put_number(out, "crankNum", has_crank ? &delivery->crank_num : NULL);
    profile_json_put_number(out, "deliveryNum", &delivery->delivery_num);
}

static void put_head(struct buf *out, const char *kind, const struct buf *delivery)
{
    buf_printf(out, "{\"kind\":\"%s\"", kind);
    buf_append(out, delivery->data, delivery->length);
}

static void put_delivery_function(struct buf *out, const struct profile *profile,
                                  const struct profile_function *function)
{
    profile_json_put_text(out, "function", function->name);
    if (function->module != NULL)
        profile_json_put_text(out, "module", function->module);
    if (function->build_id != NULL)
        profile_json_put_text(out, "buildId", function->build_id);
    put_source(out, function->file, function->line);
    if (function->inlined != NULL) {
        buf_append_string(out, ",\"inlined\":");
        json_text_lines(out, function->inlined);
    }
    profile_json_put_number(out, "calls", &function->calls);
    put_costs(out, profile, &function->self, &function->total);
    buf_append_string(out, "}\n");
}

static void put_delivery_line(struct buf *out, const struct profile *profile,
                              const struct profile_line *line)
{
    if (line->function != PROFILE_NO_FUNCTION) {
        profile_json_put_text(out, "function", profile->functions[line->function].name);
        profile_json_put_text(out, "module", profile->functions[line->function].module);
    }
    put_source(out, line->file, line->line);
    if (line->inlined != NULL)
        profile_json_put_text(out, "inlinedFunction", line->inlined);
    put_costs(out, profile, &line->self, NULL);
    buf_append_string(out, "}\n");
}

/* [NAME,MODULE,null], or [NAME,FILE,LINE] for JavaScript; the last two are null for native code. */
static void put_tree_function(struct buf *out, const struct profile_function *function)
{
    const bool script = function->module == NULL && function->file != NULL;

    buf_append_byte(out, '[');
    profile_json_put_string(out, function->name);
    buf_append_byte(out, ',');
    profile_json_put_string(out, script ? function->file : function->module);
    if (script)
        buf_printf(out, ",%" PRId64 "]", function->line);
    else
        buf_append_string(out, ",null]");
}

/* [CALLER,FUNCTION,CALLS,COMPUTRONS,INSTRUCTIONS,...] up to the last unit that it has. */
static void put_tree_node(struct buf *out, const struct profile *profile,
                          const struct profile_node *node)
{
    enum profile_unit last = PROFILE_INSTRUCTIONS;

    for (size_t i = 0; i < profile->unit_count; i++)
        if (profile->units[i] > last)
            last = profile->units[i];
    if (node->caller == 0)
        buf_append_string(out, "[null");
    else
        buf_printf(out, "[%" PRIu32, node->caller - 1);
    buf_printf(out, ",%" PRIu32 ",%" PRId64, node->function, node->calls);
    for (enum profile_unit unit = 0; unit <= last; unit++) {
        const int64_t *const cost = cost_in(profile, &node->self, unit);

        if (cost != NULL)
            buf_printf(out, ",%" PRId64, *cost);
        else
            buf_append_string(out, ",null");
    }
    buf_append_byte(out, ']');
}

static void put_spans(struct buf *out, const struct profile *profile)
{
    buf_append_string(out, ",\"spans\":[");
    for (size_t i = 0; i < profile->span_count; i++)
        buf_printf(out, "%s[%" PRIu32 ",%" PRId64 ",%" PRId64 "]", i > 0 ? "," : "",
                   profile->spans[i].node - 1, profile->spans[i].begin, profile->spans[i].length);
    buf_printf(out, "],\"spansLeftOut\":%" PRIu64, profile->spans_left_out);
}

/* nodes[0] stands for no caller and is not written. */
static void profile_json_put_tree(struct buf *out, const struct profile *profile)
{
    buf_append_string(out, ",\"functions\":[");
    for (size_t i = 0; i < profile->function_count; i++) {
        if (i > 0)
            buf_append_byte(out, ',');
        put_tree_function(out, &profile->functions[i]);
    }
    buf_append_string(out, "],\"nodes\":[");
    for (size_t i = 1; i < profile->node_count; i++) {
        if (i > 1)
            buf_append_byte(out, ',');
        put_tree_node(out, profile, &profile->nodes[i]);
    }
    buf_append_byte(out, ']');
    if (profile->spans != NULL)
        put_spans(out, profile);
    buf_append_string(out, "}\n");
}

int profile_put_lines(struct buf *out, const struct profile *profile,
                      const struct profile_delivery *delivery, struct error *error)
{
    uint32_t *const functions = profile_order_functions(profile);
    const struct profile_line **const lines = profile_order_lines(profile, functions);
    const bool memory = functions != NULL && lines != NULL;
    struct buf head = {0};

    put_delivery(&head, delivery);
    for (size_t i = 0; memory && i < profile->function_count; i++) {
        put_head(out, "function", &head);
        put_delivery_function(out, profile, &profile->functions[functions[i]]);
    }
    for (size_t i = 0; memory && i < profile->line_count; i++) {
        put_head(out, "line", &head);
        put_delivery_line(out, profile, lines[i]);
    }
    put_head(out, "tree", &head);
    profile_json_put_tree(out, profile);
    free(functions);
    free(lines);
    buf_free(&head);
    return memory && !buf_failed(out) ? 0 : error_memory(error, "a profile");
}

/* ---- a report of its own ---- */

/* `functions` are in the order of their modules. Returns the total. */
static int64_t put_objects(struct buf *out, const struct profile *profile,
                           const uint32_t *functions)
{
    int64_t all = 0;
    size_t next;

    for (size_t i = 0; i < profile->function_count; i = next) {
        const char *const module = profile->functions[functions[i]].module;
        int64_t self = 0;

        for (next = i; next < profile->function_count &&
                       strcmp(profile->functions[functions[next]].module, module) == 0;
             next++)
            self += profile->functions[functions[next]].self.of[0];
        buf_append_string(out, "{\"kind\":\"object\",\"object\":");
        profile_json_put_string(out, module);
        buf_printf(out, ",\"self\":%" PRId64 "}\n", self);
        all += self;
    }
    return all;
}

static void profile_json_put_function(struct buf *out, const struct profile_function *function)
{
    buf_append_string(out, "{\"kind\":\"function\",\"object\":");
    profile_json_put_string(out, function->module);
    profile_json_put_text(out, "function", function->name);
    profile_json_put_number(out, "self", &function->self.of[0]);
    profile_json_put_number(out, "total", &function->total.of[0]);
    if (function->file != NULL)
        put_source(out, function->file, function->line);
    buf_append_string(out, "}\n");
}

static void profile_json_put_stack(struct buf *out, const struct profile *profile, uint32_t node,
                                   uint32_t *chain)
{
    const size_t depth = profile_chain(profile, node, chain);
    struct buf frame = {0};

    buf_append_string(out, "{\"kind\":\"stack\",\"frames\":[");
    for (size_t i = 0; i < depth; i++) {
        const struct profile_function *const function =
            &profile->functions[profile->nodes[chain[i]].function];

        buf_clear(&frame);
        buf_printf(&frame, "%s`%s", function->module, function->name);
        if (i > 0)
            buf_append_byte(out, ',');
        json_text_string(out, frame.data, frame.length);
    }
    buf_append_byte(out, ']');
    profile_json_put_number(out, "self", &profile->nodes[node].self.of[0]);
    buf_append_string(out, "}\n");
    out->failed |= frame.failed;
    buf_free(&frame);
}

static void profile_json_put_line(struct buf *out, const struct profile *profile,
                                  const struct profile_line *line)
{
    buf_append_string(out, "{\"kind\":\"line\",\"file\":");
    profile_json_put_string(out, line->file);
    profile_json_put_number(out, "line", &line->line);
    profile_json_put_text(out, "function", profile->functions[line->function].name);
    profile_json_put_number(out, "self", &line->self.of[0]);
    buf_append_string(out, "}\n");
}

static int compare_by_cost(const void *a, const void *b, void *context)
{
    const struct profile *const profile = context;
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    const int64_t one = profile->functions[x].self.of[0], other = profile->functions[y].self.of[0];

    return one != other ? (one < other) - (one > other) : (x > y) - (x < y);
}

static void profile_json_put_all(struct buf *out, struct profile *profile, uint32_t *functions,
                                 const uint32_t *nodes, size_t node_count, uint32_t *chain)
{
    const int64_t all = put_objects(out, profile, functions);

    qsort_r(functions, profile->function_count, sizeof *functions, compare_by_cost, profile);
    for (size_t i = 0; i < profile->function_count; i++)
        profile_json_put_function(out, &profile->functions[functions[i]]);
    for (size_t i = 0; i < node_count; i++)
        profile_json_put_stack(out, profile, nodes[i], chain);
    for (size_t i = 0; i < profile->line_count; i++)
        profile_json_put_line(out, profile, &profile->lines[i]);
    buf_printf(out, "{\"kind\":\"summary\",\"%s\":%" PRId64 ",\"stacks\":%zu}\n",
               profile_unit_names[profile->units[0]], all, node_count);
}

int profile_put_json(struct buf *out, const struct profile *profile, struct error *error)
{
    size_t count;
    uint32_t *const functions = profile_order_functions(profile);
    uint32_t *const nodes = profile_order_nodes(profile, &count);
    uint32_t *const chain = calloc(profile->node_count, sizeof *chain);
    const bool memory = functions != NULL && nodes != NULL && chain != NULL;

    if (memory)
        profile_json_put_all(out, (struct profile *)profile, functions, nodes, count, chain);
    free(functions);
    free(nodes);
    free(chain);
    return memory && !buf_failed(out) ? 0 : error_memory(error, "a profile");
}
