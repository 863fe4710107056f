/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "meter/pass/carry/unread.h"
#include "meter/pass/charge.h"
#include "meter/pass/flow/loops.h"
#include "meter/pass/placement.h"
#include "meter/pass/profile.h"

/* One function while it is metered. */
struct placement {
    const struct support *support;
    struct charge charge;
    LLVMBuilderRef builder;
    LLVMValueRef pending; /* the local variable; NULL: the naive way */
    bool bounded;         /* the function is: what it uses goes to the carry */
    bool profiled;
    struct profile profile;
};

/* Within a block, from its first instruction on. */
struct progress {
    uint64_t fixed; /* of the block, not charged yet */
    bool empty;     /* nothing is pending, whatever way led here */
};

static LLVMValueRef load_pending(struct placement *placement)
{
    return LLVMBuildLoad2(placement->builder, placement->support->ir->i64, placement->pending, "");
}

static void add_pending(struct placement *placement, LLVMValueRef units)
{
    LLVMValueRef sum = LLVMBuildAdd(placement->builder, load_pending(placement), units, "");

    LLVMBuildStore(placement->builder, sum, placement->pending);
}

static void charge_now(struct placement *placement, LLVMValueRef units)
{
    if (placement->pending)
        add_pending(placement, units);
    else
        support_build_block(placement->support, placement->builder, units);
}

/* Brings units to memory: to a bank, or to the carry for the caller. */
static void bring(struct placement *placement, LLVMValueRef units)
{
    LLVMBuilderRef builder = placement->builder;

    if (placement->bounded)
        support_build_carry(placement->support, builder, units);
    else
        support_build_flush(placement->support, builder, units);
}

/* What is pending, of which nothing is left. */
static LLVMValueRef take_pending(struct placement *placement, struct progress *progress)
{
    const struct ir *ir = placement->support->ir;
    LLVMValueRef units = ir_number(ir, progress->fixed);

    if (!progress->empty)
        units = LLVMBuildAdd(placement->builder, load_pending(placement), units, "");
    LLVMBuildStore(placement->builder, ir_number(ir, 0), placement->pending);
    *progress = (struct progress){.empty = true};
    return units;
}

static void flush(struct placement *placement, struct progress *progress)
{
    if (!progress->empty || progress->fixed > 0)
        bring(placement, take_pending(placement, progress));
}

/* Before a call that lets others run: an heir takes over what is pending. */
static void leave(struct placement *placement, struct progress *progress, LLVMValueRef call)
{
    const struct support *support = placement->support;

    if (heirs_calls(support->heirs, call))
        support_build_carry(support, placement->builder, take_pending(placement, progress));
    else
        flush(placement, progress);
}

/*
 * A computed goto flushes as well, and so does a switch of many cases. So nothing is pending
 * wherever an interpreter's dispatch leads, and no register has to hold it through all that the
 * interpreter does.
 */
static void dispatch(struct placement *placement, struct progress *progress, LLVMValueRef jump)
{
    const struct ir *ir = placement->support->ir;
    LLVMValueRef units = LLVMBuildAdd(placement->builder, load_pending(placement),
                                      ir_number(ir, progress->fixed), "");

    LLVMBuildStore(placement->builder, ir_number(ir, 0), placement->pending);
    support_build_dispatch(placement->support, placement->builder, units, jump);
    *progress = (struct progress){.empty = true};
}

/* Nothing may stand between a call that must be a tail call and the return behind it. */
static bool is_behind_tail_call(LLVMValueRef instruction)
{
    LLVMValueRef before = LLVMGetPreviousInstruction(instruction);

    return before && LLVMIsACallInst(before) &&
           LLVMGetTailCallKind(before) == LLVMTailCallKindMustTail;
}

static bool ends_function(LLVMValueRef instruction)
{
    LLVMOpcode opcode = LLVMGetInstructionOpcode(instruction);

    return opcode == LLVMRet || opcode == LLVMResume;
}

static void charge_bytes(struct placement *placement, struct progress *progress,
                         LLVMValueRef instruction, LLVMValueRef next)
{
    LLVMValueRef units;

    LLVMPositionBuilderBefore(placement->builder, instruction);
    units = charge_before(&placement->charge, placement->builder, instruction);
    if (!units && next) {
        LLVMPositionBuilderBefore(placement->builder, next);
        units = charge_after(&placement->charge, placement->builder, instruction);
    }
    if (units) {
        if (placement->profiled)
            profile_units(&placement->profile, instruction, units);
        charge_now(placement, units);
        progress->empty = false;
    }
}

static void tell_profile(struct placement *placement, LLVMValueRef instruction)
{
    if (charge_leaves(&placement->charge, instruction))
        profile_call(&placement->profile);
    else if (ends_function(instruction) && !is_behind_tail_call(instruction))
        profile_return(&placement->profile);
}

static void meter_instruction(struct placement *placement, struct progress *progress,
                              LLVMValueRef instruction)
{
    LLVMValueRef next = LLVMGetNextInstruction(instruction);

    charge_bytes(placement, progress, instruction, next);
    LLVMPositionBuilderBefore(placement->builder, instruction);
    if (placement->profiled)
        tell_profile(placement, instruction);
    if (!placement->pending)
        return;
    if (charge_leaves(&placement->charge, instruction))
        leave(placement, progress, instruction);
    else if (LLVMIsAIndirectBrInst(instruction))
        dispatch(placement, progress, instruction);
    else if (charge_dispatches(instruction) ||
             (ends_function(instruction) && !is_behind_tail_call(instruction)))
        flush(placement, progress);
    else if (!next && progress->fixed > 0)
        add_pending(placement, ir_number(placement->support->ir, progress->fixed));
    if (charge_carries(&placement->charge, instruction)) {
        LLVMPositionBuilderBefore(placement->builder, next);
        add_pending(placement, support_build_take(placement->support, placement->builder));
        progress->empty = false;
    }
}

static void meter_block(struct placement *placement, const struct graph_block *block,
                        LLVMValueRef first)
{
    struct progress progress = {.fixed = block->units};
    LLVMValueRef next;

    if (placement->profiled)
        profile_block(&placement->profile, &placement->charge, block->block, first);
    if (!placement->pending && progress.fixed > 0) {
        LLVMPositionBuilderBefore(placement->builder, first);
        charge_now(placement, ir_number(placement->support->ir, progress.fixed));
    }
    for (LLVMValueRef instruction = first; instruction; instruction = next) {
        next = LLVMGetNextInstruction(instruction);
        meter_instruction(placement, &progress, instruction);
    }
}

static void placement_begin(struct placement *placement, const struct support *support,
                            LLVMValueRef function)
{
    *placement = (struct placement){.support = support, .profiled = support->profile};
    placement->builder = LLVMCreateBuilderInContext(support->ir->context);
    profile_init(&placement->profile, support->ir, placement->builder, function);
    charge_init(&placement->charge, support->ir, &support->bounded->functions, function);
    placement->bounded = pointer_set_find(&support->bounded->functions, function, NULL);
    if (!placement->bounded)
        unread_mark(support->ir, function);
}

static void end(struct placement *placement)
{
    charge_free(&placement->charge);
    profile_free(&placement->profile);
    LLVMDisposeBuilder(placement->builder);
}

/* Blocks that loops_cut() adds are not in the graph, and cost nothing. */
static void meter_blocks(struct placement *placement, const struct graph *graph,
                         const LLVMValueRef *firsts)
{
    for (size_t i = 0; i < graph->count; i++)
        meter_block(placement, &graph->blocks[i], firsts[i]);
}

/* Where each block's own code begins, before anything is put there. */
static LLVMValueRef *find_firsts(const struct graph *graph)
{
    LLVMValueRef *firsts = pass_allocate(graph->count, sizeof *firsts);

    for (size_t i = 0; i < graph->count; i++)
        firsts[i] = ir_first_in_block(graph->blocks[i].block);
    return firsts;
}

static void make_pending(struct placement *placement, LLVMValueRef function, LLVMValueRef first)
{
    const struct support *support = placement->support;
    LLVMBuilderRef builder = placement->builder;
    LLVMValueRef units = ir_number(support->ir, 0);

    LLVMPositionBuilderBefore(builder, first);
    placement->pending = LLVMBuildAlloca(builder, support->ir->i64, "gasmeter.pending");
    if (pointer_set_find(support->heirs, function, NULL))
        units = support_build_take(support, builder);
    LLVMBuildStore(builder, units, placement->pending);
}

void placement_outer(const struct support *support, LLVMValueRef function)
{
    LLVMBuilderRef builder = LLVMCreateBuilderInContext(support->ir->context);

    LLVMPositionBuilderBefore(builder,
                              LLVMGetBasicBlockTerminator(LLVMGetEntryBasicBlock(function)));
    support_build_flush(support, builder, support_build_take(support, builder));
    LLVMDisposeBuilder(builder);
}

void placement_fast(const struct support *support, LLVMValueRef function)
{
    struct placement placement;
    struct graph graph;
    LLVMValueRef *firsts;

    placement_begin(&placement, support, function);
    graph_find(&graph, function, &placement.charge);
    firsts = find_firsts(&graph);
    make_pending(&placement, function, firsts[0]);
    meter_blocks(&placement, &graph, firsts);
    if (support->budgets)
        loops_cut(support, &graph, placement.pending);
    free(firsts);
    graph_free(&graph);
    end(&placement);
}

void placement_naive(const struct support *support, LLVMValueRef function)
{
    struct placement placement;
    struct graph graph;
    LLVMValueRef *firsts;

    placement_begin(&placement, support, function);
    graph_find(&graph, function, &placement.charge);
    firsts = find_firsts(&graph);
    meter_blocks(&placement, &graph, firsts);
    free(firsts);
    graph_free(&graph);
    end(&placement);
}
