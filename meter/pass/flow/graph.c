/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "meter/pass/flow/graph.h"

static size_t successor(const struct graph *graph, size_t block, unsigned which)
{
    LLVMValueRef last = LLVMGetBasicBlockTerminator(graph->blocks[block]);
    size_t index = 0;

    pointer_set_find(&graph->index, LLVMGetSuccessor(last, which), &index);
    return index;
}

static unsigned successor_count(const struct graph *graph, size_t block)
{
    return LLVMGetNumSuccessors(LLVMGetBasicBlockTerminator(graph->blocks[block]));
}

/* Is there a way from one block to the other on which no block leaves? */
static bool is_reached_unseen(const struct graph *graph, size_t from, size_t to)
{
    bool *seen = pass_allocate(graph->count, sizeof *seen);
    size_t *open = pass_allocate(graph->count, sizeof *open);
    size_t open_count = 0;

    if (!graph->leaves[from]) {
        seen[from] = true;
        open[open_count++] = from;
    }
    while (open_count > 0 && !seen[to]) {
        size_t block = open[--open_count];

        for (unsigned i = 0; i < successor_count(graph, block); i++) {
            size_t next = successor(graph, block, i);

            if (!seen[next] && !graph->leaves[next]) {
                seen[next] = true;
                open[open_count++] = next;
            }
        }
    }
    free(open);
    bool reached = seen[to];
    free(seen);
    return reached;
}

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

        if (next[block] == successor_count(graph, block)) {
            visits[block] = DONE;
            depth--;
            continue;
        }
        size_t to = successor(graph, block, next[block]++);
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

static bool block_leaves(LLVMBasicBlockRef block, const struct charge *charge)
{
    for (LLVMValueRef instruction = LLVMGetFirstInstruction(block); instruction;
         instruction = LLVMGetNextInstruction(instruction))
        if (charge_leaves(charge, instruction))
            return true;
    return false;
}

void graph_find(struct graph *graph, LLVMValueRef function, const struct charge *charge)
{
    *graph = (struct graph){.count = LLVMCountBasicBlocks(function)};
    graph->blocks = pass_allocate(graph->count, sizeof *graph->blocks);
    graph->leaves = pass_allocate(graph->count, sizeof *graph->leaves);
    LLVMGetBasicBlocks(function, graph->blocks);
    for (size_t i = 0; i < graph->count; i++) {
        pointer_set_add(&graph->index, graph->blocks[i], i);
        graph->leaves[i] = block_leaves(graph->blocks[i], charge);
    }
    find_back_edges(graph);
}

void graph_free(struct graph *graph)
{
    pointer_set_free(&graph->index);
    free(graph->blocks);
    free(graph->leaves);
    free(graph->back);
}
