/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/profile/profile_write.h"

static int order_texts(const char *one, const char *other)
{
    return strcmp(one != NULL ? one : "", other != NULL ? other : "");
}

static int compare_functions(const void *a, const void *b, void *context)
{
    const struct profile *const profile = context;
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    int order = order_texts(profile->functions[x].module, profile->functions[y].module);

    if (order == 0)
        order = strcmp(profile->functions[x].name, profile->functions[y].name);
    return order != 0 ? order : (x > y) - (x < y);
}

uint32_t *profile_order_functions(const struct profile *profile)
{
    uint32_t *const order = calloc(profile->function_count + 1, sizeof *order);

    for (size_t i = 0; order != NULL && i < profile->function_count; i++)
        order[i] = (uint32_t)i;
    if (order != NULL)
        qsort_r(order, profile->function_count, sizeof *order, compare_functions,
                (struct profile *)profile);
    return order;
}

/* `ranks`: by index of a function, its place in their order. */
static int order_lines(const void *a, const void *b, void *ranks)
{
    const struct profile_line *const x = *(const struct profile_line *const *)a;
    const struct profile_line *const y = *(const struct profile_line *const *)b;
    const uint32_t *const rank = ranks;
    int order;

    if (x->function != y->function)
        return rank[x->function] < rank[y->function] ? -1 : 1;
    order = order_texts(x->file, y->file);
    if (order == 0)
        order = (x->line > y->line) - (x->line < y->line);
    if (order == 0)
        order = order_texts(x->inlined, y->inlined);
    return order != 0 ? order : (x > y) - (x < y);
}

const struct profile_line **profile_order_lines(const struct profile *profile,
                                                const uint32_t *functions)
{
    const struct profile_line **const order = calloc(profile->line_count + 1, sizeof *order);
    uint32_t *const ranks = calloc(profile->function_count + 1, sizeof *ranks);
    const bool memory = order != NULL && ranks != NULL && functions != NULL;

    for (size_t i = 0; memory && i < profile->function_count; i++)
        ranks[functions[i]] = (uint32_t)i;
    for (size_t i = 0; memory && i < profile->line_count; i++)
        order[i] = &profile->lines[i];
    if (memory)
        qsort_r(order, profile->line_count, sizeof *order, order_lines, ranks);
    else
        free(order);
    free(ranks);
    return memory ? order : NULL;
}

static int compare_nodes(const void *a, const void *b, void *context)
{
    const struct profile *const profile = context;
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    const int64_t one = profile->nodes[x].self.of[0], other = profile->nodes[y].self.of[0];

    return one != other ? (one < other) - (one > other) : (x > y) - (x < y);
}

uint32_t *profile_order_nodes(const struct profile *profile, size_t *count)
{
    uint32_t *const order = calloc(profile->node_count, sizeof *order);

    *count = 0;
    for (size_t i = 1; order != NULL && i < profile->node_count; i++)
        if (profile->nodes[i].self.of[0] > 0)
            order[(*count)++] = (uint32_t)i;
    if (order != NULL)
        qsort_r(order, *count, sizeof *order, compare_nodes, (struct profile *)profile);
    return order;
}

size_t profile_chain(const struct profile *profile, size_t node, uint32_t *chain)
{
    size_t depth = 0, at = node;

    for (; at != 0; at = profile->nodes[at].caller)
        depth++;
    at = depth;
    for (; node != 0; node = profile->nodes[node].caller)
        chain[--at] = (uint32_t)node;
    return depth;
}
