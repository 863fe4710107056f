/* SPDX-License-Identifier: Apache-2.0 */
#include "base/profile/profile.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/number.h"

/* ---- texts ---- */

enum { BLOCK_BYTES = 4000 };

struct profile_text_block {
    struct profile_text_block *next;
    size_t used, size;
    char bytes[];
};

static char *reserve_text(struct profile_texts *texts, size_t size)
{
    struct profile_text_block *block = texts->blocks;

    if (block == NULL || block->size - block->used < size) {
        const size_t space = size > BLOCK_BYTES ? size : BLOCK_BYTES;

        block = malloc(sizeof *block + space);
        if (block == NULL)
            return NULL;
        *block = (struct profile_text_block){.next = texts->blocks, .size = space};
        texts->blocks = block;
    }
    block->used += size;
    return block->bytes + block->used - size;
}

static char *profile_copy_text(struct profile_texts *texts, const char *text)
{
    const size_t size = strlen(text) + 1;
    char *const copy = reserve_text(texts, size);

    return copy != NULL ? memcpy(copy, text, size) : NULL;
}

const char *profile_texts_copy(struct profile_texts *texts, const char *text)
{
    return profile_copy_text(texts, text);
}

const char *profile_texts_copy_name(struct profile_texts *texts, const char *name)
{
    char *const copy = profile_copy_text(texts, name);

    for (char *c = copy; c != NULL && *c != '\0'; c++) {
        const unsigned char byte = (unsigned char)*c;

        if (byte <= ' ' || byte >= 0x7f || byte == ';')
            *c = '_';
    }
    return copy;
}

void profile_texts_free(struct profile_texts *texts)
{
    while (texts->blocks != NULL) {
        struct profile_text_block *const block = texts->blocks;

        texts->blocks = block->next;
        free(block);
    }
}

/* ---- building ---- */

bool profile_init(struct profile *profile, enum profile_unit unit)
{
    *profile = (struct profile){.units = {unit}, .unit_count = 1};
    profile->nodes = array_reserve(NULL, &profile->node_capacity, 1, sizeof *profile->nodes);
    if (profile->nodes == NULL)
        return false;
    profile->nodes[profile->node_count++] = (struct profile_node){0};
    return true;
}

struct profile_function *profile_add_function(struct profile *profile)
{
    struct profile_function *const larger =
        array_reserve(profile->functions, &profile->function_capacity, profile->function_count + 1,
                      sizeof *larger);

    if (larger == NULL)
        return NULL;
    profile->functions = larger;
    larger[profile->function_count] = (struct profile_function){0};
    return &larger[profile->function_count++];
}

struct profile_line *profile_add_line(struct profile *profile)
{
    struct profile_line *const larger = array_reserve(profile->lines, &profile->line_capacity,
                                                      profile->line_count + 1, sizeof *larger);

    if (larger == NULL)
        return NULL;
    profile->lines = larger;
    larger[profile->line_count] = (struct profile_line){0};
    return &larger[profile->line_count++];
}

size_t profile_add_node(struct profile *profile, size_t caller, size_t function)
{
    struct profile_node *const larger = array_reserve(profile->nodes, &profile->node_capacity,
                                                      profile->node_count + 1, sizeof *larger);

    if (larger == NULL)
        return 0;
    profile->nodes = larger;
    if (profile->node_count >= UINT32_MAX)
        return 0;
    larger[profile->node_count] =
        (struct profile_node){.caller = (uint32_t)caller, .function = (uint32_t)function};
    return profile->node_count++;
}

size_t profile_child(struct profile *profile, size_t caller, size_t function)
{
    struct pair *const child = pair_table_find(&profile->children, caller, function);

    if (child == NULL)
        return 0;
    if (child->value == 0)
        child->value = profile_add_node(profile, caller, function);
    return child->value;
}

void profile_close(struct profile *profile)
{
    free(profile->functions);
    free(profile->nodes);
    free(profile->lines);
    pair_table_free(&profile->children);
    profile_texts_free(&profile->texts);
    *profile = (struct profile){0};
}

/* ---- sums ---- */

void profile_cost_add(struct profile_cost *sum, const struct profile_cost *more)
{
    for (size_t i = 0; i < PROFILE_COSTS; i++)
        sum->of[i] = saturate_add(sum->of[i], more->of[i]);
}

bool profile_is_recursive(const struct profile *profile, size_t node)
{
    const uint32_t function = profile->nodes[node].function;

    while ((node = profile->nodes[node].caller) != 0)
        if (profile->nodes[node].function == function)
            return true;
    return false;
}

/* A caller has a smaller index than what it calls. */
struct profile_cost *profile_totals(const struct profile *profile)
{
    struct profile_cost *const totals = calloc(profile->node_count, sizeof *totals);

    for (size_t i = profile->node_count; totals != NULL && i-- > 1;) {
        profile_cost_add(&totals[i], &profile->nodes[i].self);
        profile_cost_add(&totals[profile->nodes[i].caller], &totals[i]);
    }
    return totals;
}

int profile_sum(struct profile *profile, struct error *error)
{
    struct profile_cost *const totals = profile_totals(profile);

    if (totals == NULL)
        return error_memory(error, "a profile");
    for (size_t i = 1; i < profile->node_count; i++) {
        const struct profile_node *const node = &profile->nodes[i];
        struct profile_function *const function = &profile->functions[node->function];

        function->calls = saturate_add(function->calls, node->calls);
        profile_cost_add(&function->self, &node->self);
        if (!profile_is_recursive(profile, i))
            profile_cost_add(&function->total, &totals[i]);
    }
    free(totals);
    return 0;
}
