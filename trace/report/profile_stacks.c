/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdlib.h>

#include "trace/report/profile.h"

/* `;` stands between frames, and the last blank before the number. */
static void put_frame(struct buf *out, const char *name)
{
    for (; *name != '\0'; name++)
        buf_append_byte(out, *name == ';' || (unsigned char)*name < ' ' ? '_' : *name);
}

static uint64_t nanoseconds(const struct trace_profile *profile, uint64_t ticks)
{
    return (uint64_t)(trace_clock_duration(&profile->clock, ticks) + 0.5);
}

int profile_put_folded(struct buf *out, const struct trace_profile *profile, struct error *error)
{
    const struct call_tree *const tree = profile->tree;
    size_t *const chain = calloc(tree->count, sizeof *chain);

    if (chain == NULL)
        return error_memory(error, "a report");
    for (size_t i = 1; i < tree->count; i++) {
        const uint64_t time = nanoseconds(profile, tree->nodes[i].self);
        size_t depth = 0;

        if (time == 0)
            continue;
        for (size_t at = i; at != 0; at = tree->nodes[at].parent)
            chain[depth++] = at;
        while (depth-- > 0) {
            put_frame(out, profile_name(profile, tree->nodes[chain[depth]].function));
            buf_append_byte(out, depth > 0 ? ';' : ' ');
        }
        buf_printf(out, "%" PRIu64 "\n", time);
    }
    free(chain);
    return buf_failed(out) ? error_memory(error, "a report") : 0;
}

/* ---- callgrind ---- */

/* Calls of one function by another, all chains together. */
struct arc {
    uint32_t caller, callee;
    uint64_t calls, total;
};

static int by_pair(const void *a, const void *b)
{
    const struct arc *x = a, *y = b;

    if (x->caller != y->caller)
        return x->caller < y->caller ? -1 : 1;
    return x->callee < y->callee ? -1 : x->callee > y->callee;
}

/* Sorted, one for each pair; to be freed. NULL without memory. */
static struct arc *make_arcs(const struct call_tree *tree, size_t *count)
{
    struct arc *const arcs = calloc(tree->count, sizeof *arcs);
    size_t all = 0, kept = 0;

    if (arcs == NULL)
        return NULL;
    for (size_t i = 1; i < tree->count; i++) {
        const struct call_node *const node = &tree->nodes[i];

        /* One at least, also of a call that was open when its delivery began: callgrind_annotate
         * takes the cost of no call for the caller's own. */
        if (node->parent != 0)
            arcs[all++] = (struct arc){tree->nodes[node->parent].function, node->function,
                                       node->calls > 0 ? node->calls : 1, node->total};
    }
    qsort(arcs, all, sizeof *arcs, by_pair);
    for (size_t i = 0; i < all; i++) {
        if (kept > 0 && by_pair(&arcs[kept - 1], &arcs[i]) == 0) {
            arcs[kept - 1].calls += arcs[i].calls;
            arcs[kept - 1].total += arcs[i].total;
        } else {
            arcs[kept++] = arcs[i];
        }
    }
    *count = kept;
    return arcs;
}

/* A name is written once; then its number is enough. */
static void profile_stacks_put_name(struct buf *out, const struct trace_profile *profile,
                                    const char *key, uint32_t function, unsigned char *named)
{
    buf_printf(out, "%s=(%u)", key, function);
    if (!named[function]) {
        buf_append_byte(out, ' ');
        put_frame(out, profile_name(profile, function));
    }
    named[function] = 1;
    buf_append_byte(out, '\n');
}

static void put_function(struct buf *out, const struct trace_profile *profile, uint32_t function,
                         uint64_t self, const struct arc *arcs, size_t count, unsigned char *named)
{
    profile_stacks_put_name(out, profile, "fn", function, named);
    buf_printf(out, "0 %" PRIu64 "\n", nanoseconds(profile, self));
    for (size_t i = 0; i < count; i++) {
        profile_stacks_put_name(out, profile, "cfn", arcs[i].callee, named);
        buf_printf(out, "calls=%" PRIu64 " 0\n0 %" PRIu64 "\n", arcs[i].calls,
                   nanoseconds(profile, arcs[i].total));
    }
    buf_append_byte(out, '\n');
}

static void put_functions(struct buf *out, const struct trace_profile *profile,
                          const uint64_t *self, const struct arc *arcs, size_t arc_count,
                          size_t functions, unsigned char *named)
{
    size_t at = 0;

    for (uint32_t i = 1; i < functions; i++) {
        size_t behind = at;

        while (behind < arc_count && arcs[behind].caller == i)
            behind++;
        if (self[i] > 0 || behind > at)
            put_function(out, profile, i, self[i], arcs + at, behind - at, named);
        at = behind;
    }
}

int profile_put_callgrind(struct buf *out, const struct trace_profile *profile, struct error *error)
{
    const size_t functions = CALL_TREE_GROUPS + profile->delivery_count;
    uint64_t *const self = calloc(functions, sizeof *self), sum = 0;
    unsigned char *const named = calloc(functions, 1);
    size_t arc_count = 0;
    struct arc *const arcs = make_arcs(profile->tree, &arc_count);
    const bool memory = self != NULL && named != NULL && arcs != NULL;

    for (size_t i = 1; memory && i < profile->tree->count; i++)
        if (profile->tree->nodes[i].function < functions)
            self[profile->tree->nodes[i].function] += profile->tree->nodes[i].self;
    for (size_t i = 0; memory && i < functions; i++)
        sum += nanoseconds(profile, self[i]);
    if (memory) {
        buf_printf(out,
                   "# callgrind format\nversion: 1\ncreator: gaspipe " GASPIPE_VERSION
                   "\npositions: line\nevents: %s\nsummary: %" PRIu64 "\n\nfl=???\n",
                   profile->clock.kind == TRACE_CLOCK_TSC ? "Nanoseconds"
                                                          : trace_clock_names[profile->clock.kind],
                   sum);
        put_functions(out, profile, self, arcs, arc_count, functions, named);
        buf_printf(out, "totals: %" PRIu64 "\n", sum);
    }
    free(self);
    free(named);
    free(arcs);
    return !memory || buf_failed(out) ? error_memory(error, "a report") : 0;
}
