/* SPDX-License-Identifier: Apache-2.0 */
#include "counter/qemu/code/chain_tree.h"

#include <stdlib.h>
#include <string.h>

/* Programs that recurse deeper overflow their stack. */
#define CALLS_MAX   ((size_t)1 << 22)
#define FIRST_CALLS 64

static bool is_on_other(const struct call_stack *stack, uint64_t slot)
{
    return slot >= stack->other_start && slot < stack->other_end;
}

/* A signal handler enters the alternate stack from the first stack. Its calls are over when the
 * first stack is used again. */
static bool is_over(const struct call_stack *stack, const struct call *call, uint64_t slot)
{
    bool call_on_other = is_on_other(stack, call->slot);

    if (call_on_other != is_on_other(stack, slot))
        return call_on_other;
    return call->slot <= slot;
}

void call_stack_leave_either(struct call_stack *stack, uint64_t slot)
{
    while (stack->top > stack->calls && is_over(stack, stack->top, slot))
        stack->top--;
}

bool call_stack_grow(struct call_stack *stack)
{
    const size_t used = stack->calls != NULL ? call_stack_depth(stack) + 1 : 0;
    const size_t capacity = used > 0 ? 2 * used : FIRST_CALLS;
    struct call *const larger =
        capacity <= CALLS_MAX ? realloc(stack->calls, capacity * sizeof *larger) : NULL;

    if (larger == NULL)
        return false;
    stack->calls = larger;
    stack->top = larger + (used > 0 ? used - 1 : 0);
    stack->end = larger + capacity;
    return true;
}

bool call_stack_begin(struct call_stack *stack, void *chain)
{
    if (stack->calls == NULL && !call_stack_grow(stack))
        return false;
    stack->calls[0] = (struct call){UINT64_MAX, chain};
    stack->top = stack->calls;
    stack->other_start = stack->other_end = 0;
    return true;
}

void call_stack_free(struct call_stack *stack)
{
    free(stack->calls);
    *stack = (struct call_stack){0};
}

/* ---- chains ---- */

#define FIRST_CHAINS 1024
#define FIRST_CELLS  8 /* a power of two, like all later sizes: one cache line */

/* The cells of chains in which nothing was executed. Many chains only lead to others. */
static struct call_cell no_cell;

static bool reserve_chain(struct chain_tree *tree)
{
    const size_t capacity = tree->capacity > 0 ? 2 * tree->capacity : FIRST_CHAINS;
    struct call_chain **chains;
    uint32_t *visited;

    if (tree->count < tree->capacity)
        return true;
    chains = reallocarray(tree->chains, capacity, sizeof *chains);
    if (chains == NULL)
        return false;
    tree->chains = chains;
    visited = reallocarray(tree->visited, capacity, sizeof *visited);
    if (visited == NULL)
        return false;
    tree->visited = visited;
    tree->capacity = capacity;
    return true;
}

/* Returns the place after the last chain; NULL if out of memory. */
static struct call_chain *place_for_chain(const struct chain_tree *tree)
{
    if (tree->count % CHAINS_IN_A_ROW != 0)
        return tree->chains[tree->count - 1] + 1;
    return aligned_alloc(CACHE_LINE, CHAINS_IN_A_ROW * sizeof(struct call_chain));
}

static struct call_chain *add_chain(struct chain_tree *tree, uint32_t caller,
                                    uint64_t return_address)
{
    struct call_chain *chain = reserve_chain(tree) ? place_for_chain(tree) : NULL;

    if (chain == NULL)
        return NULL;
    *chain = (struct call_chain){
        .cells = &no_cell,
        .id = (uint32_t)tree->count,
        .caller = caller,
        .return_address = return_address,
    };
    tree->chains[tree->count++] = chain;
    return chain;
}

bool chain_tree_open(struct chain_tree *tree)
{
    *tree = (struct chain_tree){0};
    return add_chain(tree, 0, 0) != NULL;
}

struct call_chain *chain_tree_find(struct chain_tree *tree, const struct call_chain *caller,
                                   uint64_t return_address)
{
    struct pair *id = pair_table_find(&tree->ids, caller->id, return_address);
    struct call_chain *chain;

    if (id == NULL)
        return NULL;
    if (id->value != 0)
        return tree->chains[id->value];
    chain = add_chain(tree, caller->id, return_address);
    if (chain != NULL)
        id->value = chain->id;
    return chain;
}

/* Returns the sequence's cell, or the empty cell where it belongs. There is always an empty
 * cell. */
static struct call_cell *find_cell(struct call_cell *cells, uint32_t mask, uint32_t key)
{
    uint32_t at = key & mask;

    while (cells[at].key != 0 && cells[at].key != key)
        at = (at + 1) & mask;
    return &cells[at];
}

static bool grow_chain(struct call_chain *chain)
{
    const uint32_t capacity = chain->cells == &no_cell ? FIRST_CELLS : 2 * (chain->mask + 1);
    struct call_cell *cells = aligned_alloc(CACHE_LINE, capacity * sizeof *cells);

    if (cells == NULL)
        return false;
    memset(cells, 0, capacity * sizeof *cells);
    for (uint32_t i = 0; i <= chain->mask; i++)
        if (chain->cells[i].key != 0)
            *find_cell(cells, capacity - 1, chain->cells[i].key) = chain->cells[i];
    if (chain->cells != &no_cell)
        free(chain->cells);
    chain->cells = cells;
    chain->mask = capacity - 1;
    return true;
}

struct call_cell *call_chain_make_cell(struct call_chain *chain, uint32_t key)
{
    struct call_cell *cell = find_cell(chain->cells, chain->mask, key);

    if (cell->key == key)
        return cell;
    /* Never more than half full, so that most lookups succeed at the first cell. */
    if (2 * (chain->used + 1) > chain->mask + 1) {
        if (!grow_chain(chain))
            return NULL;
        cell = find_cell(chain->cells, chain->mask, key);
    }
    cell->key = key;
    chain->used++;
    return cell;
}

/* ---- numbers beyond a cell ---- */

bool chain_tree_add(struct chain_tree *tree, const struct call_chain *chain, struct call_cell *cell,
                    uint32_t instructions)
{
    struct pair *upper;

    if (call_cell_add(cell, instructions))
        return true;
    upper = pair_table_find(&tree->carried, chain->id, cell->key);
    if (upper == NULL)
        return false;
    upper->value++;
    cell->instructions += instructions;
    return true;
}

/* If a number was carried, its entry exists already. */
void chain_tree_take_back(struct chain_tree *tree, const struct call_chain *chain,
                          struct call_cell *cell)
{
    if (cell->instructions-- == 0)
        pair_table_find(&tree->carried, chain->id, cell->key)->value--;
}

uint64_t chain_tree_completed(const struct chain_tree *tree, const struct call_chain *chain,
                              const struct call_cell *cell)
{
    return cell->instructions + (pair_table_value(&tree->carried, chain->id, cell->key) << 32);
}

void chain_tree_clear(struct chain_tree *tree)
{
    for (size_t i = 0; i < tree->visited_count; i++) {
        struct call_chain *chain = tree->chains[tree->visited[i]];

        for (uint32_t at = 0; at <= chain->mask && chain->used > 0; at++)
            chain->cells[at].instructions = 0;
        chain->listed = false;
    }
    tree->visited_count = 0;
    pair_table_free(&tree->carried);
}

void chain_tree_free(struct chain_tree *tree)
{
    for (size_t i = 0; i < tree->count; i++)
        if (tree->chains[i]->cells != &no_cell)
            free(tree->chains[i]->cells);
    for (size_t i = 0; i < tree->count; i += CHAINS_IN_A_ROW)
        free(tree->chains[i]);
    free(tree->chains);
    free(tree->visited);
    pair_table_free(&tree->ids);
    pair_table_free(&tree->carried);
    *tree = (struct chain_tree){0};
}
