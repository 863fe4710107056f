/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_METER_PASS_LOOPS_H
#define GASPIPE_METER_PASS_LOOPS_H

#include "meter/pass/charge.h"
#include "meter/pass/support.h"

/*
 * The blocks of one function as they are before it is metered, and its loops: which edges lead
 * back, and which of them can be gone round without the count ever being brought to memory.
 */
struct graph_edge {
    size_t from; /* index into blocks */
    size_t to;
};

struct graph_block {
    LLVMBasicBlockRef block;
    size_t *successors; /* indices, in the order of the terminator's */
    unsigned successor_count;
    bool flushes;    /* in it, all that is pending comes to memory */
    bool repeatable; /* to run it twice does what to run it once does */
    uint64_t units;  /* that it costs each time */
};

struct graph {
    struct graph_block *blocks;
    size_t count;
    struct pointer_set index; /* of a block */
    size_t *order;            /* blocks that can be reached, each after those it leads forward to */
    size_t order_count;
    struct graph_edge *back; /* edges back that need a check of their own */
    size_t back_count;
    size_t back_capacity;
};

/* graph_free() is the caller's to call. */
void graph_find(struct graph *graph, LLVMValueRef function, const struct charge *charge);

void graph_free(struct graph *graph);

/* Is this one of the edges back? The block may be one that was added since: then it is not. */
bool graph_is_back(const struct graph *graph, LLVMBasicBlockRef from, size_t to);

/* Can this block, where edges lead back to, be gone through again by others without a flush? */
bool graph_is_nested(const struct graph *graph, size_t head);

/* Is there a way from one block to the other that does not lead through `barrier`? */
bool graph_leads(const struct graph *graph, size_t from, size_t to, size_t barrier);

/*
 * Sees to it that no loop runs for long without a look at what is pending.
 *
 *     block: br more, in, out   becomes   begin: left = TURNS; br head
 *                                         outer: look; br begin
 *                                         block: --left; br more & left > 0, in, rest
 *                                         rest:  br more, outer, out
 *
 * where `block` is where the loop ends, its head or its bottom. TURNS turns cost at most
 * SUPPORT_LOOK_UNITS, whatever way each takes. A loop of one end stays one of one end, whose turns
 * can be worked out beforehand if they could before: LLVM vectorises it as before. Where a loop
 * ends in the middle or at several places, its edges back count the turns:
 *
 *     latch -> head             becomes   latch -> next; next: --left ? head : outer
 *
 * A loop within another that may turn without a flush begins at `outer`. Where a head cannot be
 * given other predecessors (phis, exceptions, computed gotos) it looks each time.
 */
void loops_cut(const struct support *support, const struct graph *graph, LLVMValueRef pending);

#endif
