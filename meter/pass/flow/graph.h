/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_METER_PASS_FLOW_GRAPH_H
#define GASPIPE_METER_PASS_FLOW_GRAPH_H

#include "meter/pass/charge.h"

/*
 * The blocks of one function and its loops: which edges lead back, and which of them can
 * be gone round without the count ever being brought to memory.
 */
struct graph_edge {
    size_t from; /* index into blocks */
    size_t to;
};

struct graph {
    LLVMBasicBlockRef *blocks;
    size_t count;
    struct pointer_set index; /* of a block */
    bool *leaves;             /* this block has an instruction that charge_leaves() */
    struct graph_edge *back;  /* edges back that need a check of their own */
    size_t back_count;
    size_t back_capacity;
};

/* graph_free() is the caller's to call. */
void graph_find(struct graph *graph, LLVMValueRef function, const struct charge *charge);

void graph_free(struct graph *graph);

#endif
