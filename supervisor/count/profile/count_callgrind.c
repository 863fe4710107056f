/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/count/profile/count_profile.h"

#include <inttypes.h>
#include <stdlib.h>

/* One function calling another, in all stacks together. */
struct edge {
    size_t caller, callee;
    uint64_t calls, total;
};

static int compare_edges(const void *a, const void *b)
{
    const struct edge *x = a, *y = b;

    if (x->caller != y->caller)
        return x->caller < y->caller ? -1 : 1;
    return (x->callee > y->callee) - (x->callee < y->callee);
}

/* What stands next to each other for the same two becomes one. How many are left. */
static size_t merge_edges(struct edge *edges, size_t count)
{
    size_t merged = 0;

    qsort(edges, count, sizeof *edges, compare_edges);
    for (size_t i = 0; i < count; i++) {
        if (merged > 0 && compare_edges(&edges[merged - 1], &edges[i]) == 0) {
            edges[merged - 1].calls += edges[i].calls;
            edges[merged - 1].total += edges[i].total;
        } else {
            edges[merged++] = edges[i];
        }
    }
    return merged;
}

/* Stacks come behind their parents. To be freed; NULL without memory. */
static struct edge *find_edges(const struct count_profile *profile, size_t *count)
{
    struct edge *edges = calloc(profile->stack_count + 1, sizeof *edges);
    uint64_t *totals = calloc(profile->stack_count + 1, sizeof *totals);

    *count = 0;
    for (size_t i = profile->stack_count; edges != NULL && totals != NULL && i-- > 1;) {
        const struct profile_stack *stack = &profile->stacks[i];

        totals[i] += stack->self;
        if (stack->parent == 0)
            continue;
        totals[stack->parent] += totals[i];
        /* A reader wants one call at least. What recursion costs is part of the outermost call. */
        edges[(*count)++] = (struct edge){
            .caller = profile->stacks[stack->parent].function,
            .callee = stack->function,
            .calls = stack->calls > 0 ? stack->calls : 1,
            .total = count_profile_is_within_itself(profile, i) ? 0 : totals[i],
        };
    }
    if (totals == NULL) {
        free(edges);
        edges = NULL;
    }
    free(totals);
    if (edges != NULL)
        *count = merge_edges(edges, *count);
    return edges;
}

static const char *source_of(const struct profile_function *function)
{
    return function->source != NULL ? function->source : "???";
}

static void put_head(struct buf *out, const struct profile_function *function)
{
    buf_printf(out, "\nob=%s\nfl=%s\nfn=%s\n", function->object, source_of(function),
               function->name);
}

/* Places come in the order of their functions; the index of the first behind these. */
static size_t put_self(struct buf *out, const struct count_profile *profile, size_t function,
                       size_t place)
{
    const struct profile_function *of = &profile->functions[function];

    if (profile->place_count == 0 && of->self > 0)
        buf_printf(out, "%d %" PRIu64 "\n", of->line, of->self);
    for (; place < profile->place_count && profile->places[place].function == function; place++)
        buf_printf(out, "fi=%s\n%d %" PRIu64 "\n", profile->places[place].source,
                   profile->places[place].line, profile->places[place].self);
    if (profile->place_count > 0)
        buf_printf(out, "fi=%s\n", source_of(of));
    return place;
}

static void put_call(struct buf *out, const struct count_profile *profile, const struct edge *edge)
{
    const struct profile_function *caller = &profile->functions[edge->caller];
    const struct profile_function *callee = &profile->functions[edge->callee];

    buf_printf(out, "cob=%s\ncfi=%s\ncfn=%s\ncalls=%" PRIu64 " %d\n%d %" PRIu64 "\n",
               callee->object, source_of(callee), callee->name, edge->calls, callee->line,
               caller->line, edge->total);
}

int count_profile_callgrind(struct buf *out, const struct count_profile *profile,
                            struct error *error)
{
    size_t count, next = 0, place = 0;
    struct edge *edges = find_edges(profile, &count);
    uint64_t all = 0;

    if (edges == NULL)
        return error_memory(error, "the profile");
    for (size_t i = 1; i < profile->stack_count; i++)
        all += profile->stacks[i].self;
    buf_printf(out,
               "# callgrind format\nversion: 1\ncreator: gaspipe count\npositions: line\n"
               "events: %s\nsummary: %" PRIu64 "\n",
               profile->unit, all);
    for (size_t i = 0; i < profile->function_count; i++) {
        put_head(out, &profile->functions[i]);
        place = put_self(out, profile, i, place);
        for (; next < count && edges[next].caller == i; next++)
            put_call(out, profile, &edges[next]);
    }
    free(edges);
    return 0;
}
