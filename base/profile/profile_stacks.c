/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdlib.h>

#include "base/number.h"
#include "base/profile/profile_write.h"

/* In a stack, `;` is between frames, and the end of the line is its end. */
static void folded_put_text(struct buf *out, const char *text)
{
    for (; *text != '\0'; text++)
        buf_append_byte(out, *text == ';' || (unsigned char)*text < ' ' ? '_' : *text);
}

/* ---- folded stacks ---- */

static void folded_put_frame(struct buf *out, const struct profile_function *function,
                             enum profile_frame frame)
{
    if (frame == PROFILE_FRAME_MODULE || frame == PROFILE_FRAME_METER) {
        folded_put_text(out, function->module);
        buf_append_byte(out, frame == PROFILE_FRAME_MODULE ? '`' : '!');
    }
    folded_put_text(out, function->name);
    if (frame != PROFILE_FRAME_SOURCE || function->file == NULL)
        return;
    buf_append_string(out, " (");
    folded_put_text(out, function->file);
    buf_printf(out, ":%" PRId64 ")", function->line);
}

static void folded_put_stack(struct buf *out, const struct profile *profile,
                             const struct profile_delivery *delivery, enum profile_frame frame,
                             const uint32_t *chain, size_t depth)
{
    const char *between = "";

    if (delivery != NULL) {
        folded_put_text(out, delivery->vat);
        buf_append_byte(out, ';');
        folded_put_text(out, delivery->method);
        between = ";";
    }
    for (size_t i = profile->has_root ? 1 : 0; i < depth; i++) {
        buf_append_string(out, between);
        folded_put_frame(out, &profile->functions[profile->nodes[chain[i]].function], frame);
        between = ";";
    }
    buf_printf(out, " %" PRId64 "\n", profile->nodes[chain[depth - 1]].self.of[0]);
}

int profile_put_folded(struct buf *out, const struct profile *profile,
                       const struct profile_delivery *delivery, enum profile_frame frame,
                       struct error *error)
{
    size_t count;
    uint32_t *const nodes = profile_order_nodes(profile, &count);
    uint32_t *const chain = calloc(profile->node_count, sizeof *chain);
    const bool memory = nodes != NULL && chain != NULL;

    for (size_t i = 0; memory && i < count; i++)
        folded_put_stack(out, profile, delivery, frame, chain,
                         profile_chain(profile, nodes[i], chain));
    free(nodes);
    free(chain);
    return memory && !buf_failed(out) ? 0 : error_memory(error, "a profile");
}

/* ---- callgrind ---- */

/* One function calling another, in all chains together. */
struct edge {
    uint32_t caller, callee;
    int64_t calls, total;
};

static int compare_edges(const void *a, const void *b)
{
    const struct edge *x = a, *y = b;

    if (x->caller != y->caller)
        return x->caller < y->caller ? -1 : 1;
    return (x->callee > y->callee) - (x->callee < y->callee);
}

/* Merges equal pairs. Returns how many are left. */
static size_t merge_edges(struct edge *edges, size_t count)
{
    size_t merged = 0;

    qsort(edges, count, sizeof *edges, compare_edges);
    for (size_t i = 0; i < count; i++) {
        if (merged > 0 && compare_edges(&edges[merged - 1], &edges[i]) == 0) {
            edges[merged - 1].calls = saturate_add(edges[merged - 1].calls, edges[i].calls);
            edges[merged - 1].total = saturate_add(edges[merged - 1].total, edges[i].total);
        } else {
            edges[merged++] = edges[i];
        }
    }
    return merged;
}

/* The caller frees them; NULL if out of memory. */
static struct edge *find_edges(const struct profile *profile, size_t *count)
{
    struct edge *const edges = calloc(profile->node_count, sizeof *edges);
    struct profile_cost *const totals = profile_totals(profile);

    *count = 0;
    for (size_t i = 1; edges != NULL && totals != NULL && i < profile->node_count; i++) {
        const struct profile_node *const node = &profile->nodes[i];

        if (node->caller == 0)
            continue;
        /* callgrind_annotate takes the cost of no call for the caller's own. What recursion costs
         * is part of the outermost call. */
        edges[(*count)++] = (struct edge){
            .caller = profile->nodes[node->caller].function,
            .callee = node->function,
            .calls = node->calls > 0 ? node->calls : 1,
            .total = profile_is_recursive(profile, i) ? 0 : totals[i].of[0],
        };
    }
    if (totals != NULL && edges != NULL)
        *count = merge_edges(edges, *count);
    else
        free(edges);
    free(totals);
    return totals != NULL ? edges : NULL;
}

static void put_name(struct buf *out, const char *key, const char *name)
{
    buf_printf(out, "%s=", key);
    folded_put_text(out, name != NULL ? name : "???");
    buf_append_byte(out, '\n');
}

/* Advances *line past the function's lines. */
static void put_self(struct buf *out, const struct profile *profile, size_t function, size_t *line)
{
    const struct profile_function *const of = &profile->functions[function];

    put_name(out, "\nob", of->module);
    put_name(out, "fl", of->file);
    put_name(out, "fn", of->name);
    if (profile->line_count == 0 && of->self.of[0] > 0)
        buf_printf(out, "%" PRId64 " %" PRId64 "\n", of->line, of->self.of[0]);
    for (; *line < profile->line_count && profile->lines[*line].function == function; ++*line) {
        put_name(out, "fi", profile->lines[*line].file);
        buf_printf(out, "%" PRId64 " %" PRId64 "\n", profile->lines[*line].line,
                   profile->lines[*line].self.of[0]);
    }
    if (profile->line_count > 0)
        put_name(out, "fi", of->file);
}

static void folded_put_call(struct buf *out, const struct profile *profile, const struct edge *edge)
{
    const struct profile_function *const callee = &profile->functions[edge->callee];

    put_name(out, "cob", callee->module);
    put_name(out, "cfi", callee->file);
    put_name(out, "cfn", callee->name);
    buf_printf(out, "calls=%" PRId64 " %" PRId64 "\n%" PRId64 " %" PRId64 "\n", edge->calls,
               callee->line, profile->functions[edge->caller].line, edge->total);
}

int profile_put_callgrind(struct buf *out, const struct profile *profile, const char *event,
                          struct error *error)
{
    size_t count, next = 0, line = 0;
    struct edge *const edges = find_edges(profile, &count);
    int64_t all = 0;

    if (edges == NULL)
        return error_memory(error, "a profile");
    for (size_t i = 1; i < profile->node_count; i++)
        all = saturate_add(all, profile->nodes[i].self.of[0]);
    buf_printf(out,
               "# callgrind format\nversion: 1\ncreator: gaspipe " GASPIPE_VERSION
               "\npositions: line\nevents: %s\nsummary: %" PRId64 "\n",
               event != NULL ? event : profile_unit_names[profile->units[0]], all);
    for (size_t i = 0; i < profile->function_count; i++) {
        put_self(out, profile, i, &line);
        for (; next < count && edges[next].caller == i; next++)
            folded_put_call(out, profile, &edges[next]);
    }
    free(edges);
    return buf_failed(out) ? error_memory(error, "a profile") : 0;
}
