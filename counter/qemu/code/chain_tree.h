/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_COUNTER_QEMU_CODE_CHAIN_TREE_H
#define GASPIPE_COUNTER_QEMU_CODE_CHAIN_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/pair_table.h"
#include "counter/qemu/code/insn.h"

/* A thread's active calls, identified by the stack slots of their return addresses. Stacks grow
 * downwards: a call is over when the thread accesses a slot above its return address on the same
 * stack. */

struct call {
    uint64_t slot; /* where its return address lies */
    void *chain;   /* the caller's handle of the chain that ends with this call */
};

struct call_stack {
    struct call *calls;              /* owned; calls[0] stands for no call; the others follow,
                                      * outermost first */
    struct call *top, *end;          /* the innermost call; the end of the allocated space */
    uint64_t other_start, other_end; /* a second stack, for signal handlers; 0 and 0: none */
};

/* Resets the stack to no call, whose chain is `chain`. It must be all zeros or used before. Returns
 * false if out of memory. */
bool call_stack_begin(struct call_stack *stack, void *chain);

static inline size_t call_stack_depth(const struct call_stack *stack)
{
    return (size_t)(stack->top - stack->calls);
}

/* call_stack_leave() calls it if the thread has an alternate stack. */
void call_stack_leave_either(struct call_stack *stack, uint64_t slot);

/* Ends the calls whose return address lies at or below `slot`. No stack reaches the address 0. */
static inline void call_stack_leave(struct call_stack *stack, uint64_t slot)
{
    struct call *top = stack->top;

    if (__builtin_expect(stack->other_end != 0, 0)) {
        call_stack_leave_either(stack, slot);
        return;
    }
    while (top->slot <= slot)
        top--; /* calls[0] lies above all slots, so the loop ends */
    stack->top = top;
}

/* For call_stack_enter(): allocates space. Returns false if out of memory or the stack is too
 * deep. */
bool call_stack_grow(struct call_stack *stack);

/* Enters a call. Returns false if out of memory. */
static inline bool call_stack_enter(struct call_stack *stack, uint64_t slot, void *chain)
{
    if (__builtin_expect(stack->top + 1 == stack->end, 0) && !call_stack_grow(stack))
        return false;
    *++stack->top = (struct call){slot, chain};
    return true;
}

void call_stack_free(struct call_stack *stack);

/* A tree of call chains. It counts the completed instructions of each sequence in each chain.
 * Chains are never removed, so their numbers and addresses stay valid. */

/* The completed instructions of a sequence in one chain. Eight cells share a cache line. */
struct call_cell {
    uint32_t key;          /* of the sequence; 0: an empty cell */
    uint32_t instructions; /* the lower half of the number; chain_tree_completed() returns the
                            * whole */
};

#define CACHE_LINE 64

/* Aligned to a cache line, because each call and return switches chains. */
struct call_chain {
    _Alignas(CACHE_LINE) struct call_cell *cells; /* owned: a hash table by the sequence's key */
    uint32_t mask;                                /* number of cells less one */
    uint32_t used;
    uint32_t id, caller;     /* numbers of this chain and of its caller's; 0: no calls */
    uint64_t return_address; /* its last call's, in the guest */
    bool listed;             /* in the tree's `visited` */
};

struct chain_tree {
    struct pair_table ids;      /* maps (caller, return address) to a chain's number */
    struct pair_table carried;  /* maps (chain, key) to the upper half of a cell's number */
    struct call_chain **chains; /* Owned, by number; [0] is the chain of no calls. Each block of
                                 * this many chains is one allocation: */
#define CHAINS_IN_A_ROW 64
    size_t count, capacity;
    uint32_t *visited; /* chains that may hold counts; the same capacity as `chains` */
    size_t visited_count;
};

/* Returns false if out of memory. */
bool chain_tree_open(struct chain_tree *tree);

/* Returns the chain of a call from `caller` that returns to that address; NULL if out of memory. */
struct call_chain *chain_tree_find(struct chain_tree *tree, const struct call_chain *caller,
                                   uint64_t return_address);

/* Call this before you add to a chain's cells. */
static inline void chain_tree_visit(struct chain_tree *tree, struct call_chain *chain)
{
    if (chain->listed)
        return;
    chain->listed = true;
    tree->visited[tree->visited_count++] = chain->id;
}

/* For call_chain_cell(): adds a missing cell. NULL if out of memory. */
struct call_cell *call_chain_make_cell(struct call_chain *chain, uint32_t key);

/* Returns the chain's cell of the sequence, valid until the next one is added. NULL if out of
 * memory. */
static inline struct call_cell *call_chain_cell(struct call_chain *chain, uint32_t key)
{
    struct call_cell *cell = &chain->cells[key & chain->mask];

    return cell->key == key ? cell : call_chain_make_cell(chain, key);
}

/* Adds to the cell. Returns false and changes nothing if the sum does not fit. */
static inline bool call_cell_add(struct call_cell *cell, uint32_t instructions)
{
    uint32_t sum;

    if (__builtin_expect(__builtin_add_overflow(cell->instructions, instructions, &sum), 0))
        return false;
    cell->instructions = sum;
    return true;
}

/* Like call_cell_add(), but any sum fits. Returns false if out of memory. */
bool chain_tree_add(struct chain_tree *tree, const struct call_chain *chain, struct call_cell *cell,
                    uint32_t instructions);

/* Subtracts one. Allocates no memory. */
void chain_tree_take_back(struct chain_tree *tree, const struct call_chain *chain,
                          struct call_cell *cell);

/* Returns the cell's completed instructions. */
uint64_t chain_tree_completed(const struct chain_tree *tree, const struct call_chain *chain,
                              const struct call_cell *cell);

/* Sets all numbers of the visited chains to 0. */
void chain_tree_clear(struct chain_tree *tree);

void chain_tree_free(struct chain_tree *tree);

#endif
