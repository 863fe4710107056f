/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_COUNTER_QEMU_CODE_CHAIN_TREE_H
#define GASPIPE_COUNTER_QEMU_CODE_CHAIN_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/pair_table.h"
#include "counter/qemu/code/insn.h"

/*
 * The calls that a thread is in, by where their return addresses lie. Stacks
 * grow downwards: a call is over when something is done above its return
 * address, on the same stack.
 */

struct call {
    uint64_t slot; /* where its return address lies */
    void *chain;   /* the caller's name for it and all around it */
};

struct call_stack {
    struct call *calls;              /* owned; calls[0] stands for no call, then outermost first */
    struct call *top, *end;          /* the innermost; where there is no room for another */
    uint64_t other_start, other_end; /* a second stack, for signal handlers; 0 and 0: none */
};

/* In no call, whose chain is that; a stack that is all zeros, or is used again. False without
 * memory. */
bool call_stack_begin(struct call_stack *stack, void *chain);

static inline size_t call_stack_depth(const struct call_stack *stack)
{
    return (size_t)(stack->top - stack->calls);
}

/* For call_stack_leave(), where there is a second stack. */
void call_stack_leave_either(struct call_stack *stack, uint64_t slot);

/* Ends the calls whose return address lies at or below `slot`, which no stack has at its end. */
static inline void call_stack_leave(struct call_stack *stack, uint64_t slot)
{
    struct call *top = stack->top;

    if (__builtin_expect(stack->other_end != 0, 0)) {
        call_stack_leave_either(stack, slot);
        return;
    }
    while (top->slot <= slot)
        top--; /* the outermost lies above all */
    stack->top = top;
}

/* For call_stack_enter(): room for more. False without memory, or when it is too deep. */
bool call_stack_grow(struct call_stack *stack);

/* Enters one more. False without memory. */
static inline bool call_stack_enter(struct call_stack *stack, uint64_t slot, void *chain)
{
    if (__builtin_expect(stack->top + 1 == stack->end, 0) && !call_stack_grow(stack))
        return false;
    *++stack->top = (struct call){slot, chain};
    return true;
}

void call_stack_free(struct call_stack *stack);

/*
 * Chains of calls, and how many instructions of each sequence completed in each. A chain is never
 * forgotten, so its number and its address stay the same.
 */

/* What completed of a sequence in one chain: so small that eight share a cache line. */
struct call_cell {
    uint32_t key;          /* of the sequence; 0: an empty cell */
    uint32_t instructions; /* the lower half of their number: chain_tree_completed() has all */
};

#define CACHE_LINE 64

/* A cache line, as calls and returns go from one to another. */
struct call_chain {
    _Alignas(CACHE_LINE) struct call_cell *cells; /* owned: a hash table by the sequence's key */
    uint32_t mask;                                /* one less than the cells there is room for */
    uint32_t used;
    uint32_t id, caller;     /* numbers of this chain and of its caller's; 0: that of no calls */
    uint64_t return_address; /* in the guest, of its last call */
    bool listed;             /* among the tree's `visited` */
};

struct chain_tree {
    struct pair_table ids;      /* from (caller, return address) to a chain's number */
    struct pair_table carried;  /* from (chain, key) to the upper half of a cell's number */
    struct call_chain **chains; /* owned, by number; [0] is that of no calls. So many in a row are
                                 * one piece of memory: */
#define CHAINS_IN_A_ROW 64
    size_t count, room;
    uint32_t *visited; /* chains that may hold something; as much room as `chains` */
    size_t visited_count;
};

/* False without memory. */
bool chain_tree_open(struct chain_tree *tree);

/* The chain of a call out of `caller` that returns to that address. NULL without memory. */
struct call_chain *chain_tree_find(struct chain_tree *tree, const struct call_chain *caller,
                                   uint64_t return_address);

/* To be called before a chain's cells are added to. */
static inline void chain_tree_visit(struct chain_tree *tree, struct call_chain *chain)
{
    if (chain->listed)
        return;
    chain->listed = true;
    tree->visited[tree->visited_count++] = chain->id;
}

/* For call_chain_cell(): also makes a cell where there is none. NULL without memory. */
struct call_cell *call_chain_make_cell(struct call_chain *chain, uint32_t key);

/* The chain's cell of the sequence, until the next one is made. NULL without memory. */
static inline struct call_cell *call_chain_cell(struct call_chain *chain, uint32_t key)
{
    struct call_cell *cell = &chain->cells[key & chain->mask];

    return cell->key == key ? cell : call_chain_make_cell(chain, key);
}

/* So many more completed. False, with nothing changed: the cell has no room for that. */
static inline bool call_cell_add(struct call_cell *cell, uint32_t instructions)
{
    uint32_t sum;

    if (__builtin_expect(__builtin_add_overflow(cell->instructions, instructions, &sum), 0))
        return false;
    cell->instructions = sum;
    return true;
}

/* The same for any cell of the chain. False without memory. */
bool chain_tree_add(struct chain_tree *tree, const struct call_chain *chain, struct call_cell *cell,
                    uint32_t instructions);

/* One less than there are. Asks for no memory. */
void chain_tree_take_back(struct chain_tree *tree, const struct call_chain *chain,
                          struct call_cell *cell);

/* How many completed. */
uint64_t chain_tree_completed(const struct chain_tree *tree, const struct call_chain *chain,
                              const struct call_cell *cell);

/* Sets all numbers of the chains that were visited to 0. */
void chain_tree_clear(struct chain_tree *tree);

void chain_tree_free(struct chain_tree *tree);

#endif
