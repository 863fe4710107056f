/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "meter/pass/flow/graph.h"

/* ---- ways from block to block --------------------------------------------------- */

/* Blocks that were reached, and those of them that were not gone on from yet. */
struct walk {
    const struct graph *graph;
    bool *seen;
    size_t *open;
    size_t open_count;
};

static void reach(struct walk *walk, size_t block)
{
    if (walk->seen[block])
        return;
    walk->seen[block] = true;
    walk->open[walk->open_count++] = block;
}

/* Goes from a block wherever ways lead, but not into those that are seen already. */
static void walk_from(struct walk *walk, size_t from)
{
    reach(walk, from);
    while (walk->open_count > 0) {
        const struct graph_block *block = &walk->graph->blocks[walk->open[--walk->open_count]];

        for (unsigned i = 0; i < block->successor_count; i++)
            reach(walk, block->successors[i]);
    }
}

static struct walk walk_begin(const struct graph *graph)
{
    return (struct walk){
        .graph = graph,
        .seen = pass_allocate(graph->count, sizeof(bool)),
        .open = pass_allocate(graph->count, sizeof(size_t)),
    };
}

static void walk_end(struct walk *walk)
{
    free(walk->seen);
    free(walk->open);
}

/* Is there a way from one block to the other on which no block flushes? */
static bool is_reached_unseen(const struct graph *graph, size_t from, size_t to)
{
    struct walk walk;
    bool reached;

    if (graph->blocks[from].flushes || graph->blocks[to].flushes)
        return false;
    walk = walk_begin(graph);
    for (size_t i = 0; i < graph->count; i++)
        walk.seen[i] = graph->blocks[i].flushes;
    walk_from(&walk, from);
    reached = walk.seen[to];
    walk_end(&walk);
    return reached;
}

bool graph_leads(const struct graph *graph, size_t from, size_t to, size_t barrier)
{
    struct walk walk;
    bool reached;

    if (from == barrier || to == barrier)
        return false;
    walk = walk_begin(graph);
    walk.seen[barrier] = true;
    walk_from(&walk, from);
    reached = walk.seen[to];
    walk_end(&walk);
    return reached;
}

/* ---- edges back ------------------------------------------------------------------- */

static void add_back_edge(struct graph *graph, size_t from, size_t to)
{
    struct graph_edge *edges;

    if (!is_reached_unseen(graph, to, from))
        return;
    edges = array_reserve(graph->back, &graph->back_capacity, graph->back_count + 1, sizeof *edges);
    if (!edges)
        exit(4);
    graph->back = edges;
    edges[graph->back_count++] = (struct graph_edge){from, to};
}

enum visit { NEW, OPEN, DONE };

/* Depth first: an edge to a block that is still open leads back, and each circle has one. */
static void find_back_edges(struct graph *graph)
{
    enum visit *visits = pass_allocate(graph->count, sizeof *visits);
    unsigned *next = pass_allocate(graph->count, sizeof *next);
    size_t *path = pass_allocate(graph->count, sizeof *path);
    size_t depth = 1;

    visits[0] = OPEN;
    while (depth > 0) {
        size_t block = path[depth - 1];

        if (next[block] == graph->blocks[block].successor_count) {
            visits[block] = DONE;
            depth--;
            continue;
        }
        size_t to = graph->blocks[block].successors[next[block]++];
        if (visits[to] == OPEN) {
            add_back_edge(graph, block, to);
        } else if (visits[to] == NEW) {
            visits[to] = OPEN;
            path[depth++] = to;
        }
    }
    free(path);
    free(next);
    free(visits);
}

bool graph_is_nested(const struct graph *graph, size_t head)
{
    for (size_t i = 0; i < graph->count; i++)
        for (unsigned k = 0; k < graph->blocks[i].successor_count; k++)
            if (graph->blocks[i].successors[k] == head &&
                !graph_is_back(graph, graph->blocks[i].block, head) &&
                is_reached_unseen(graph, head, i))
                return true;
    return false;
}

bool graph_is_back(const struct graph *graph, LLVMBasicBlockRef from, size_t to)
{
    for (size_t i = 0; i < graph->back_count; i++)
        if (graph->back[i].to == to && graph->blocks[graph->back[i].from].block == from)
            return true;
    return false;
}

/* ---- blocks ------------------------------------------------------------------------- */

/* Reads, works something out, and nothing else. */
static bool is_repeatable(LLVMValueRef instruction)
{
    if (LLVMIsALoadInst(instruction))
        return !LLVMGetVolatile(instruction) &&
               LLVMGetOrdering(instruction) == LLVMAtomicOrderingNotAtomic;
    return LLVMIsABinaryOperator(instruction) || LLVMIsAUnaryOperator(instruction) ||
           LLVMIsACastInst(instruction) || LLVMIsACmpInst(instruction) ||
           LLVMIsASelectInst(instruction) || LLVMIsAGetElementPtrInst(instruction) ||
           LLVMIsABranchInst(instruction);
}

static void look_at_block(struct graph_block *block, const struct charge *charge)
{
    block->repeatable = true;
    for (LLVMValueRef instruction = LLVMGetFirstInstruction(block->block); instruction;
         instruction = LLVMGetNextInstruction(instruction)) {
        block->flushes |= charge_leaves(charge, instruction) || charge_dispatches(instruction);
        block->repeatable &= is_repeatable(instruction);
        block->units += charge_fixed(charge, instruction);
    }
}

static void find_successors(const struct graph *graph, struct graph_block *block)
{
    LLVMValueRef last = LLVMGetBasicBlockTerminator(block->block);

    block->successor_count = LLVMGetNumSuccessors(last);
    block->successors = pass_allocate(block->successor_count, sizeof(size_t));
    for (unsigned i = 0; i < block->successor_count; i++)
        pointer_set_find(&graph->index, LLVMGetSuccessor(last, i), &block->successors[i]);
}

void graph_find(struct graph *graph, LLVMValueRef function, const struct charge *charge)
{
    LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(function);

    *graph = (struct graph){.count = LLVMCountBasicBlocks(function)};
    graph->blocks = pass_allocate(graph->count, sizeof *graph->blocks);
    for (size_t i = 0; i < graph->count; i++, block = LLVMGetNextBasicBlock(block)) {
        graph->blocks[i].block = block;
        pointer_set_add(&graph->index, block, i);
        look_at_block(&graph->blocks[i], charge);
    }
    for (size_t i = 0; i < graph->count; i++)
        find_successors(graph, &graph->blocks[i]);
    find_back_edges(graph);
}

void graph_free(struct graph *graph)
{
    pointer_set_free(&graph->index);
    for (size_t i = 0; i < graph->count; i++)
        free(graph->blocks[i].successors);
    free(graph->blocks);
    free(graph->back);
}
