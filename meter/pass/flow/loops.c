/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "meter/pass/flow/loops.h"

/* One loop while it is cut. */
struct cut {
    const struct support *support;
    const struct graph *graph;
    LLVMValueRef pending;
    LLVMBuilderRef builder;
    size_t head; /* index of its block */
    LLVMBasicBlockRef outer;
    LLVMBasicBlockRef next;
};

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

/* May other blocks stand between this one and those that lead to it? */
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

static void build_look(const struct cut *cut)
{
    LLVMValueRef pending = LLVMBuildLoad2(cut->builder, cut->support->ir->i64, cut->pending, "");

    LLVMBuildStore(cut->builder, support_build_look(cut->support, cut->builder, pending),
                   cut->pending);
}

static LLVMValueRef make_variable(const struct cut *cut)
{
    LLVMPositionBuilderBefore(cut->builder, cut->pending);
    return LLVMBuildAlloca(cut->builder, cut->support->ir->i64, "gasmeter.left");
}

static void build_outer(const struct cut *cut, LLVMValueRef left)
{
    LLVMPositionBuilderAtEnd(cut->builder, cut->outer);
    build_look(cut);
    LLVMBuildStore(cut->builder, ir_number(cut->support->ir, SUPPORT_TURNS), left);
    LLVMBuildBr(cut->builder, cut->graph->blocks[cut->head]);
}

static LLVMValueRef build_next(const struct cut *cut, LLVMValueRef left)
{
    const struct ir *ir = cut->support->ir;
    LLVMValueRef rest, none, branch;

    LLVMPositionBuilderAtEnd(cut->builder, cut->next);
    rest = LLVMBuildSub(cut->builder, LLVMBuildLoad2(cut->builder, ir->i64, left, ""),
                        ir_number(ir, 1), "");
    LLVMBuildStore(cut->builder, rest, left);
    none = LLVMBuildICmp(cut->builder, LLVMIntEQ, rest, ir_number(ir, 0), "");
    branch = LLVMBuildCondBr(cut->builder, none, cut->outer, cut->graph->blocks[cut->head]);
    support_mark_rare(ir, branch);
    return branch;
}

static bool is_back_edge(const struct cut *cut, LLVMBasicBlockRef from)
{
    for (size_t i = 0; i < cut->graph->back_count; i++)
        if (cut->graph->back[i].to == cut->head &&
            cut->graph->blocks[cut->graph->back[i].from] == from)
            return true;
    return false;
}

/* Leads a block's edges to the head elsewhere; what was said of the loop goes with them. */
static void redirect(const struct cut *cut, LLVMValueRef last, LLVMValueRef branch)
{
    LLVMBasicBlockRef head = cut->graph->blocks[cut->head];
    bool back = is_back_edge(cut, LLVMGetInstructionParent(last));
    unsigned kind = LLVMGetMDKindIDInContext(cut->support->ir->context, "llvm.loop", 9);

    for (unsigned i = 0; i < LLVMGetNumSuccessors(last); i++)
        if (LLVMGetSuccessor(last, i) == head)
            LLVMSetSuccessor(last, i, back ? cut->next : cut->outer);
    if (back && LLVMGetMetadata(last, kind)) {
        LLVMSetMetadata(branch, kind, LLVMGetMetadata(last, kind));
        LLVMSetMetadata(last, kind, NULL);
    }
}

static void cut_in_two(struct cut *cut)
{
    LLVMContextRef context = cut->support->ir->context;
    LLVMBasicBlockRef head = cut->graph->blocks[cut->head];
    LLVMValueRef left = make_variable(cut);
    LLVMValueRef branch;

    cut->outer = LLVMInsertBasicBlockInContext(context, head, "gasmeter.outer");
    cut->next =
        LLVMAppendBasicBlockInContext(context, LLVMGetBasicBlockParent(head), "gasmeter.next");
    branch = build_next(cut, left);
    for (size_t i = 0; i < cut->graph->count; i++)
        redirect(cut, LLVMGetBasicBlockTerminator(cut->graph->blocks[i]), branch);
    build_outer(cut, left);
}

static void look_each_time(struct cut *cut)
{
    LLVMPositionBuilderBefore(cut->builder, ir_first_in_block(cut->graph->blocks[cut->head]));
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
        if (can_be_cut(graph->blocks[cut.head]))
            cut_in_two(&cut);
        else
            look_each_time(&cut);
    }
    LLVMDisposeBuilder(builder);
}
