/* SPDX-License-Identifier: Apache-2.0 */
#include "meter/pass/loops.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

/* ---- blocks ---- */

/* ---- paths between blocks --------------------------------------------------- */

/* The visited blocks, and those whose successors are still to be visited. */
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

/* Visits all blocks that can be reached from a block and were not visited before. */
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

/* Returns true if a path leads from one block to the other without a flush. */
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

/* Returns true if a path leads from one block to the other without passing `barrier`. */
static bool graph_leads(const struct graph *graph, size_t from, size_t to, size_t barrier)
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

/* Depth-first search: an edge to an open block is a back edge. Every cycle has one. */
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
            graph->order[graph->order_count++] = block;
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

static bool graph_is_back(const struct graph *graph, LLVMBasicBlockRef from, size_t to);

/* Returns true if an outer loop can repeat this loop's head without a flush. */
static bool graph_is_nested(const struct graph *graph, size_t head)
{
    for (size_t i = 0; i < graph->count; i++)
        for (unsigned k = 0; k < graph->blocks[i].successor_count; k++)
            if (graph->blocks[i].successors[k] == head &&
                !graph_is_back(graph, graph->blocks[i].block, head) &&
                is_reached_unseen(graph, head, i))
                return true;
    return false;
}

/* Returns true if this is a back edge. Blocks that were added later have none. */
static bool graph_is_back(const struct graph *graph, LLVMBasicBlockRef from, size_t to)
{
    for (size_t i = 0; i < graph->back_count; i++)
        if (graph->back[i].to == to && graph->blocks[graph->back[i].from].block == from)
            return true;
    return false;
}

/* ---- properties of blocks
 * ------------------------------------------------------------------------- */

/* Returns true if the instruction only reads and computes. */
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
    graph->order = pass_allocate(graph->count, sizeof *graph->order);
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
    free(graph->order);
    free(graph->back);
}

/* ---- loops ---- */

/* The blocks of a loop: those from which a path leads back to its head. */
static bool *find_members(const struct graph *graph, size_t head)
{
    bool *members = pass_allocate(graph->count, sizeof *members), changed = true;

    members[head] = true;
    for (size_t i = 0; i < graph->back_count; i++)
        if (graph->back[i].to == head)
            members[graph->back[i].from] = true;
    while (changed) {
        changed = false;
        for (size_t i = graph->count; i-- > 0;)
            for (unsigned k = 0; k < graph->blocks[i].successor_count && !members[i]; k++) {
                const size_t to = graph->blocks[i].successors[k];

                members[i] = to != head && members[to];
                changed |= members[i];
            }
    }
    return members;
}

/* The exit of a loop: a branch either to another turn or out of the loop. */
struct end {
    LLVMValueRef branch; /* NULL: no such branch */
    unsigned on;         /* which successor continues the loop */
    uint64_t repeated;   /* units of the block, if it runs once more after a check */
};

/* A loop while it is split. */
struct cut {
    const struct support *support;
    const struct graph *graph;
    LLVMValueRef pending;
    LLVMBuilderRef builder;
    size_t head;    /* index of its block */
    uint64_t turns; /* between two checks */
    struct end end;
    LLVMValueRef left;       /* the local variable */
    LLVMBasicBlockRef begin; /* entry of the loop; `outer` if that checks */
    LLVMBasicBlockRef outer;
    LLVMBasicBlockRef next; /* NULL: the exit counts the turns */
};

/* Returns the most units that one turn can leave pending, without the turns of inner loops. */
static uint64_t units_of_turn(const struct graph *graph, size_t head)
{
    uint64_t *units = pass_allocate(graph->count, sizeof *units), turn;
    bool *members = find_members(graph, head);

    for (size_t i = 0; i < graph->order_count; i++) {
        const struct graph_block *block = &graph->blocks[graph->order[i]];
        uint64_t most = 0;

        if (!members[graph->order[i]] || block->flushes)
            continue;
        /* Edges to blocks later in the order are back edges; their units are still 0. */
        for (unsigned k = 0; k < block->successor_count; k++)
            if (block->successors[k] != head && units[block->successors[k]] > most)
                most = units[block->successors[k]];
        units[graph->order[i]] = block->units + most;
    }
    turn = units[head];
    free(members);
    free(units);
    return turn;
}

/* Returns how many turns a loop may make between two checks. */
static uint64_t turns_between_looks(const struct graph *graph, size_t head)
{
    const uint64_t units = units_of_turn(graph, head);

    if (units >= SUPPORT_LOOK_UNITS)
        return 1;
    return units * SUPPORT_TURNS <= SUPPORT_LOOK_UNITS ? SUPPORT_TURNS : SUPPORT_LOOK_UNITS / units;
}

/* ---- loop exits --------------------------------------------------------------- */

static bool begins_with_phi(LLVMBasicBlockRef block)
{
    return LLVMIsAPHINode(LLVMGetFirstInstruction(block));
}

/* Chooses this block's branch as the exit, if its other successor accepts another predecessor. */
static bool take_end(struct cut *cut, size_t block, unsigned on)
{
    const struct graph_block *last = &cut->graph->blocks[block];
    size_t out = last->successors[!on];

    if (begins_with_phi(cut->graph->blocks[out].block) ||
        graph_is_back(cut->graph, last->block, out))
        return false;
    cut->end = (struct end){
        .branch = LLVMGetBasicBlockTerminator(last->block),
        .on = on,
        .repeated = block == cut->head ? last->units : 0,
    };
    return true;
}

static bool is_two_ways(const struct graph_block *block)
{
    return LLVMIsABranchInst(LLVMGetBasicBlockTerminator(block->block)) &&
           block->successor_count == 2 && block->successors[0] != block->successors[1];
}

/* A loop with its test at the bottom: its only back edge is one side of a branch. */
static bool find_end_at_bottom(struct cut *cut)
{
    size_t from = SIZE_MAX;

    for (size_t i = 0; i < cut->graph->back_count; i++) {
        if (cut->graph->back[i].to != cut->head)
            continue;
        if (from != SIZE_MAX)
            return false;
        from = cut->graph->back[i].from;
    }
    const struct graph_block *bottom = &cut->graph->blocks[from];
    return from != cut->head && is_two_ways(bottom) &&
           take_end(cut, from, bottom->successors[0] == cut->head ? 0 : 1);
}

/* Returns true if a path leads from here to a back edge without passing the head first. */
static bool reaches_back_edge(const struct cut *cut, size_t from)
{
    for (size_t i = 0; i < cut->graph->back_count; i++)
        if (cut->graph->back[i].to == cut->head &&
            graph_leads(cut->graph, from, cut->graph->back[i].from, cut->head))
            return true;
    return false;
}

/* A loop with its test at the top: the head only decides whether there is another turn. */
static bool find_end_at_top(struct cut *cut)
{
    const struct graph_block *head = &cut->graph->blocks[cut->head];

    /* With a profile, the repeated block's units would be counted twice. */
    if (cut->support->profile || !is_two_ways(head) || !head->repeatable)
        return false;
    for (unsigned i = 0; i < 2; i++)
        if (!reaches_back_edge(cut, head->successors[!i]))
            return take_end(cut, cut->head, i);
    return false;
}

/* ---- splitting --------------------------------------------------------------------------- */

static bool can_lead_elsewhere(LLVMValueRef user)
{
    if (!LLVMIsAInstruction(user))
        return false;
    switch (LLVMGetInstructionOpcode(user)) {
    case LLVMBr:
    case LLVMSwitch:
    case LLVMInvoke:
        return true;
    default:
        return false;
    }
}

/* Returns true if blocks may be inserted between this one and its predecessors. */
static bool can_be_cut(LLVMBasicBlockRef head)
{
    LLVMValueRef first = LLVMGetFirstInstruction(head);
    LLVMUseRef use = LLVMGetFirstUse(LLVMBasicBlockAsValue(head));

    if (LLVMIsAPHINode(first) || LLVMIsALandingPadInst(first))
        return false;
    for (; use; use = LLVMGetNextUse(use))
        if (!can_lead_elsewhere(LLVMGetUser(use)))
            return false;
    return true;
}

static LLVMBasicBlockRef append_block(const struct cut *cut, const char *name)
{
    LLVMBasicBlockRef head = cut->graph->blocks[cut->head].block;

    return LLVMAppendBasicBlockInContext(cut->support->ir->context, LLVMGetBasicBlockParent(head),
                                         name);
}

static LLVMValueRef load_counter(const struct cut *cut, LLVMValueRef variable)
{
    return LLVMBuildLoad2(cut->builder, cut->support->ir->i64, variable, "");
}

/* Subtracts from the variable. Returns the rest. */
static LLVMValueRef take_away(const struct cut *cut, LLVMValueRef variable, uint64_t number)
{
    LLVMValueRef rest = LLVMBuildSub(cut->builder, load_counter(cut, variable),
                                     ir_number(cut->support->ir, number), "");

    LLVMBuildStore(cut->builder, rest, variable);
    return rest;
}

static void build_look(const struct cut *cut)
{
    LLVMValueRef pending = load_counter(cut, cut->pending);

    LLVMBuildStore(cut->builder, support_build_look(cut->support, cut->builder, pending),
                   cut->pending);
}

static void make_variable(struct cut *cut)
{
    LLVMPositionBuilderBefore(cut->builder, cut->pending);
    cut->left = LLVMBuildAlloca(cut->builder, cut->support->ir->i64, "gasmeter.left");
    /* A goto into the loop's middle bypasses its beginning, so the counter needs a value. */
    LLVMBuildStore(cut->builder, ir_number(cut->support->ir, cut->turns), cut->left);
}

/* Lets `outer` branch to `begin`, the head of a loop around the split one. If both branched to the
 * head, LLVM would merge the two loops. */
static void build_outer_block(const struct cut *cut)
{
    LLVMPositionBuilderAtEnd(cut->builder, cut->outer);
    build_look(cut);
    if (cut->begin != cut->outer) {
        LLVMBuildBr(cut->builder, cut->begin);
        LLVMPositionBuilderAtEnd(cut->builder, cut->begin);
    }
    LLVMBuildStore(cut->builder, ir_number(cut->support->ir, cut->turns), cut->left);
    LLVMBuildBr(cut->builder, cut->graph->blocks[cut->head].block);
}

static LLVMValueRef build_next(const struct cut *cut)
{
    const struct ir *ir = cut->support->ir;
    LLVMValueRef none, branch;

    LLVMPositionBuilderAtEnd(cut->builder, cut->next);
    none =
        LLVMBuildICmp(cut->builder, LLVMIntEQ, take_away(cut, cut->left, 1), ir_number(ir, 0), "");
    branch = LLVMBuildCondBr(cut->builder, none, cut->outer, cut->graph->blocks[cut->head].block);
    support_mark_rare(ir, branch);
    return branch;
}

/* The exit's block was charged for the turn that did not follow, so it runs once more. */
static LLVMBasicBlockRef build_again(const struct cut *cut)
{
    LLVMBasicBlockRef again;

    if (cut->end.repeated == 0)
        return cut->outer;
    again = append_block(cut, "gasmeter.again");
    LLVMPositionBuilderAtEnd(cut->builder, again);
    (void)take_away(cut, cut->pending, cut->end.repeated);
    LLVMBuildBr(cut->builder, cut->outer);
    return again;
}

/* Keeps the branch's order, so that another loop with the same exit can be split later. */
static LLVMValueRef build_condition(const struct cut *cut, LLVMValueRef condition)
{
    LLVMValueRef left = take_away(cut, cut->left, 1), none = ir_number(cut->support->ir, 0);

    if (cut->end.on == 0)
        return LLVMBuildAnd(cut->builder, condition,
                            LLVMBuildICmp(cut->builder, LLVMIntNE, left, none, ""), "");
    return LLVMBuildOr(cut->builder, condition,
                       LLVMBuildICmp(cut->builder, LLVMIntEQ, left, none, ""), "");
}

static void count_at_end(const struct cut *cut)
{
    LLVMValueRef branch = cut->end.branch, condition = LLVMGetCondition(branch);
    LLVMBasicBlockRef out = LLVMGetSuccessor(branch, !cut->end.on),
                      rest = append_block(cut, "gasmeter.rest"), again = build_again(cut);

    LLVMPositionBuilderBefore(cut->builder, branch);
    LLVMSetCondition(branch, build_condition(cut, condition));
    LLVMSetSuccessor(branch, !cut->end.on, rest);
    LLVMPositionBuilderAtEnd(cut->builder, rest);
    LLVMBuildCondBr(cut->builder, condition, cut->end.on == 0 ? again : out,
                    cut->end.on == 0 ? out : again);
}

/* Redirects a block's edges to the head. `next` branches to the head in place of the back edges,
 * and takes over their loop metadata. */
static void redirect(const struct cut *cut, LLVMValueRef last, LLVMValueRef next)
{
    LLVMBasicBlockRef head = cut->graph->blocks[cut->head].block;
    bool back = graph_is_back(cut->graph, LLVMGetInstructionParent(last), cut->head);
    unsigned kind = LLVMGetMDKindIDInContext(cut->support->ir->context, "llvm.loop", 9);

    if (last == next || (back && !next))
        return;
    for (unsigned i = 0; i < LLVMGetNumSuccessors(last); i++)
        if (LLVMGetSuccessor(last, i) == head)
            LLVMSetSuccessor(last, i, back ? cut->next : cut->begin);
    if (back && LLVMGetMetadata(last, kind)) {
        LLVMSetMetadata(next, kind, LLVMGetMetadata(last, kind));
        LLVMSetMetadata(last, kind, NULL);
    }
}

/* Includes blocks that splitting another loop added. */
static void redirect_all(const struct cut *cut, LLVMValueRef next)
{
    LLVMBasicBlockRef head = cut->graph->blocks[cut->head].block;

    for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(LLVMGetBasicBlockParent(head)); block;
         block = LLVMGetNextBasicBlock(block))
        if (LLVMGetBasicBlockTerminator(block))
            redirect(cut, LLVMGetBasicBlockTerminator(block), next);
}

static void cut_in_two(struct cut *cut)
{
    LLVMBasicBlockRef head = cut->graph->blocks[cut->head].block;

    cut->turns = turns_between_looks(cut->graph, cut->head);
    make_variable(cut);
    cut->outer = LLVMInsertBasicBlockInContext(cut->support->ir->context, head, "gasmeter.outer");
    cut->begin = cut->outer;
    if (!graph_is_nested(cut->graph, cut->head))
        cut->begin =
            LLVMInsertBasicBlockInContext(cut->support->ir->context, head, "gasmeter.begin");
    if (find_end_at_bottom(cut) || find_end_at_top(cut)) {
        redirect_all(cut, NULL);
        count_at_end(cut);
    } else {
        cut->next = append_block(cut, "gasmeter.next");
        redirect_all(cut, build_next(cut));
    }
    build_outer_block(cut);
}

static void look_each_time(struct cut *cut)
{
    LLVMPositionBuilderBefore(cut->builder, ir_first_in_block(cut->graph->blocks[cut->head].block));
    build_look(cut);
}

static bool is_first_edge_to(const struct graph *graph, size_t edge)
{
    for (size_t i = 0; i < edge; i++)
        if (graph->back[i].to == graph->back[edge].to)
            return false;
    return true;
}

void loops_cut(const struct support *support, const struct graph *graph, LLVMValueRef pending)
{
    LLVMBuilderRef builder = LLVMCreateBuilderInContext(support->ir->context);

    for (size_t i = 0; i < graph->back_count; i++) {
        struct cut cut = {
            .support = support,
            .graph = graph,
            .pending = pending,
            .builder = builder,
            .head = graph->back[i].to,
        };

        if (!is_first_edge_to(graph, i))
            continue;
        if (can_be_cut(graph->blocks[cut.head].block))
            cut_in_two(&cut);
        else
            look_each_time(&cut);
    }
    LLVMDisposeBuilder(builder);
}
