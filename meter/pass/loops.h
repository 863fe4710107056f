/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_METER_PASS_LOOPS_H
#define GASPIPE_METER_PASS_LOOPS_H

#include "meter/pass/charge.h"
#include "meter/pass/support.h"

/* The control-flow graph of a function before metering, with its loops: which edges are back edges,
 * and which of these can repeat without a flush. */
struct graph_edge {
    size_t from; /* index into blocks */
    size_t to;
};

struct graph_block {
    LLVMBasicBlockRef block;
    size_t *successors; /* indices, in the terminator's order */
    unsigned successor_count;
    bool flushes;    /* it writes all pending units to memory */
    bool repeatable; /* running it twice has the same effect as once */
    uint64_t units;  /* fixed cost of each run */
};

struct graph {
    struct graph_block *blocks;
    size_t count;
    struct pointer_set index; /* of a block */
    size_t *order;            /* reachable blocks, each after its forward successors */
    size_t order_count;
    struct graph_edge *back; /* back edges that need a check of their own */
    size_t back_count;
    size_t back_capacity;
};

/* Call graph_free() afterwards. */
void graph_find(struct graph *graph, LLVMValueRef function, const struct charge *charge);

void graph_free(struct graph *graph);

/*
 * Makes long loops check their pending units. The hazard: a loop without calls
 * never flushes, so it could pass its budget by any amount. A check per turn
 * would stop LLVM from vectorising the loop. So a loop becomes two, and only
 * the outer one checks:
 *
 *   block: br more, in, out     becomes     begin: left = TURNS; br head
 *                                           outer: check; br begin
 *                                           block: --left;
 *                                                  br more & left > 0, in, rest
 *                                           rest:  br more, outer, out
 *
 * `block` is the loop's exit, at its head or bottom. TURNS turns cost at most
 * SUPPORT_LOOK_UNITS on any path. A loop with one exit keeps one exit and a trip
 * count that LLVM can compute, so vectorising still works. If a loop has
 * several exits, or one in its middle, its back edges count the turns:
 *
 *   latch -> head               becomes     latch -> next;
 *                                           next: --left ? head : outer
 *
 * An inner loop of an outer one that may repeat without a flush begins at
 * `outer`. If the head cannot get other predecessors (phis, exceptions, computed
 * gotos), each turn checks.
 */
void loops_cut(const struct support *support, const struct graph *graph, LLVMValueRef pending);

#endif
