/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "meter/pass/support.h"

/* LLVM's number of preserve_most: the callee saves the registers that it uses. */
#define PRESERVE_MOST 14

static LLVMAttributeRef attribute(const struct ir *ir, const char *name)
{
    return LLVMCreateEnumAttribute(ir->context, ir_attribute_kind(name), 0);
}

static void add_attribute(const struct ir *ir, LLVMValueRef function, const char *name)
{
    LLVMAddAttributeAtIndex(function, LLVMAttributeFunctionIndex, attribute(ir, name));
}

/* ---- the run-time part --------------------------------------------- */

static bool has_flag(const struct ir *ir, const char *name)
{
    return LLVMGetModuleFlag(ir->module, name, strlen(name)) != NULL;
}

/* Code for shared libraries finds the banks through the global offset table. Linkers of executables
 * remove that step. */
static LLVMThreadLocalMode thread_local_mode(const struct ir *ir)
{
    bool shared = has_flag(ir, "PIC Level") && !has_flag(ir, "PIE Level");

    return shared ? LLVMInitialExecTLSModel : LLVMLocalExecTLSModel;
}

static void declare_banks(struct support *support)
{
    const struct ir *ir = support->ir;

    support->banks =
        LLVMAddGlobal(ir->module, LLVMArrayType2(ir->i64, SUPPORT_BANKS), "gasmeter_banks");
    LLVMSetThreadLocalMode(support->banks, thread_local_mode(ir));
    LLVMSetAlignment(support->banks, 64);
    support->carry = LLVMAddGlobal(ir->module, ir->i64, "gasmeter_carry");
    LLVMSetThreadLocalMode(support->carry, thread_local_mode(ir));
}

static LLVMValueRef declare_rare(const struct ir *ir, const char *name, LLVMTypeRef type)
{
    LLVMValueRef function = LLVMAddFunction(ir->module, name, type);

    LLVMSetFunctionCallConv(function, PRESERVE_MOST);
    add_attribute(ir, function, "cold");
    add_attribute(ir, function, "nounwind");
    return function;
}

static void build_rare_call(LLVMBuilderRef builder, LLVMTypeRef type, LLVMValueRef function,
                            LLVMValueRef *argument)
{
    LLVMValueRef call = LLVMBuildCall2(builder, type, function, argument, argument ? 1 : 0, "");

    LLVMSetInstructionCallConv(call, PRESERVE_MOST);
}

void support_mark_rare(const struct ir *ir, LLVMValueRef branch)
{
    const char *words = "branch_weights";
    LLVMMetadataRef weights[] = {
        LLVMMDStringInContext2(ir->context, words, strlen(words)),
        LLVMValueAsMetadata(LLVMConstInt(ir->i32, 1, false)),
        LLVMValueAsMetadata(LLVMConstInt(ir->i32, 1 << 20, false)),
    };
    LLVMMetadataRef node = LLVMMDNodeInContext2(ir->context, weights, 3);

    LLVMSetMetadata(branch, LLVMGetMDKindIDInContext(ir->context, "prof", 4),
                    LLVMMetadataAsValue(ir->context, node));
}

/* ---- functions that each module gets ------------------------------------------ */

/* An internal function of three blocks; the second is rare and continues to the third. */
struct small_function {
    LLVMValueRef function;
    LLVMBasicBlockRef first;
    LLVMBasicBlockRef rare;
    LLVMBasicBlockRef last;
};

static struct small_function make_small_function(const struct ir *ir, const char *name,
                                                 LLVMTypeRef type)
{
    LLVMValueRef function = LLVMAddFunction(ir->module, name, type);

    LLVMSetLinkage(function, LLVMInternalLinkage);
    add_attribute(ir, function, "alwaysinline");
    add_attribute(ir, function, "nounwind");
    return (struct small_function){
        .function = function,
        .first = LLVMAppendBasicBlockInContext(ir->context, function, "first"),
        .rare = LLVMAppendBasicBlockInContext(ir->context, function, "rare"),
        .last = LLVMAppendBasicBlockInContext(ir->context, function, "last"),
    };
}

static LLVMValueRef with_scope(const struct support *support, LLVMValueRef access)
{
    LLVMSetMetadata(access, support->scope_kind, support->scope);
    return access;
}

/* Returns the bank's new value. */
static LLVMValueRef build_sum(const struct support *support, LLVMBuilderRef builder,
                              LLVMValueRef units)
{
    LLVMTypeRef i64 = support->ir->i64;
    LLVMValueRef sum = with_scope(support, LLVMBuildLoad2(builder, i64, support->banks, ""));

    sum = LLVMBuildAdd(builder, sum, units, "");
    with_scope(support, LLVMBuildStore(builder, sum, support->banks));
    return sum;
}

static LLVMValueRef build_spent(const struct support *support, LLVMBuilderRef builder,
                                LLVMValueRef sum)
{
    return LLVMBuildICmp(builder, LLVMIntSGE, sum, ir_number(support->ir, 0), "");
}

static void build_refill(const struct support *support, LLVMBuilderRef builder)
{
    build_rare_call(builder, support->refill_type, support->refill, NULL);
}

/* banks[0] += units; with budgets, a bank that reaches zero calls gasmeter_refill(). */
static void make_flush(struct support *support, LLVMBuilderRef builder)
{
    const struct ir *ir = support->ir;
    LLVMTypeRef parameter = ir->i64;
    struct small_function made;
    LLVMValueRef sum;

    support->flush_type = LLVMFunctionType(ir->none, &parameter, 1, false);
    made = make_small_function(ir, "gasmeter.flush", support->flush_type);
    support->flush = made.function;
    LLVMPositionBuilderAtEnd(builder, made.first);
    sum = build_sum(support, builder, LLVMGetParam(made.function, 0));
    if (support->budgets) {
        LLVMValueRef spent = build_spent(support, builder, sum);

        support_mark_rare(ir, LLVMBuildCondBr(builder, spent, made.rare, made.last));
        LLVMPositionBuilderAtEnd(builder, made.rare);
        build_refill(support, builder);
    } else {
        LLVMBuildBr(builder, made.last);
        LLVMPositionBuilderAtEnd(builder, made.rare);
    }
    LLVMBuildBr(builder, made.last);
    LLVMPositionBuilderAtEnd(builder, made.last);
    LLVMBuildRetVoid(builder);
}

/* if (pending > SUPPORT_PENDING_MAX) { gasmeter_flush(pending); pending = 0; } return pending; */
static void make_look(struct support *support, LLVMBuilderRef builder)
{
    const struct ir *ir = support->ir;
    LLVMTypeRef parameter = ir->i64;
    LLVMTypeRef rare_type = LLVMFunctionType(ir->none, &parameter, 1, false);
    struct small_function made;
    LLVMValueRef pending, much, rest;

    support->look_type = LLVMFunctionType(ir->i64, &parameter, 1, false);
    made = make_small_function(ir, "gasmeter.look", support->look_type);
    support->look = made.function;
    pending = LLVMGetParam(made.function, 0);
    LLVMPositionBuilderAtEnd(builder, made.first);
    much = LLVMBuildICmp(builder, LLVMIntUGT, pending, ir_number(ir, SUPPORT_PENDING_MAX), "");
    support_mark_rare(ir, LLVMBuildCondBr(builder, much, made.rare, made.last));
    LLVMPositionBuilderAtEnd(builder, made.rare);
    build_rare_call(builder, rare_type, declare_rare(ir, "gasmeter_flush", rare_type), &pending);
    LLVMBuildBr(builder, made.last);
    LLVMPositionBuilderAtEnd(builder, made.last);
    rest = LLVMBuildPhi(builder, ir->i64, "");
    LLVMAddIncoming(rest, (LLVMValueRef[]){pending, ir_number(ir, 0)},
                    (LLVMBasicBlockRef[]){made.first, made.rare}, 2);
    LLVMBuildRet(builder, rest);
}

/* ---- alias metadata, so that LLVM keeps values in registers across a flush
 * --------------------- */

static LLVMMetadataRef text_node(const struct ir *ir, const char *text)
{
    return LLVMMDStringInContext2(ir->context, text, strlen(text));
}

static void make_scope(struct support *support)
{
    LLVMContextRef context = support->ir->context;
    LLVMMetadataRef words = text_node(support->ir, "gasmeter");
    LLVMMetadataRef domain = LLVMMDNodeInContext2(context, &words, 1);
    LLVMMetadataRef parts[] = {text_node(support->ir, "gasmeter banks"), domain};
    LLVMMetadataRef scope = LLVMMDNodeInContext2(context, parts, 2);

    support->scope = LLVMMetadataAsValue(context, LLVMMDNodeInContext2(context, &scope, 1));
    support->scope_kind = LLVMGetMDKindIDInContext(context, "alias.scope", 11);
    support->noalias_kind = LLVMGetMDKindIDInContext(context, "noalias", 7);
}

static bool touches_memory(LLVMValueRef instruction)
{
    const char *name = ir_callee_name(instruction);

    return LLVMIsALoadInst(instruction) || LLVMIsAStoreInst(instruction) ||
           ir_starts_with(name, "llvm.memcpy.") || ir_starts_with(name, "llvm.memmove.") ||
           ir_starts_with(name, "llvm.memset.");
}

void support_mark_function(const struct support *support, LLVMValueRef function)
{
    for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(function); block;
         block = LLVMGetNextBasicBlock(block))
        for (LLVMValueRef instruction = LLVMGetFirstInstruction(block); instruction;
             instruction = LLVMGetNextInstruction(instruction))
            if (touches_memory(instruction) && !LLVMGetMetadata(instruction, support->noalias_kind))
                LLVMSetMetadata(instruction, support->noalias_kind, support->scope);
}

/* ---- all of it ------------------------------------------------------------------ */

void support_make(struct support *support, const struct ir *ir, const struct bounded *bounded,
                  const struct pointer_set *local_callees, bool budgets, bool profile)
{
    LLVMBuilderRef builder = LLVMCreateBuilderInContext(ir->context);

    *support = (struct support){.ir = ir,
                                .bounded = bounded,
                                .local_callees = local_callees,
                                .budgets = budgets,
                                .profile = profile};
    declare_banks(support);
    make_scope(support);
    support->refill_type = LLVMFunctionType(ir->none, NULL, 0, false);
    support->refill = declare_rare(ir, "gasmeter_refill", support->refill_type);
    make_flush(support, builder);
    make_look(support, builder);
    support->block = LLVMAddFunction(ir->module, "gasmeter_block", support->flush_type);
    add_attribute(ir, support->block, "nounwind");
    LLVMDisposeBuilder(builder);
}

void support_build_carry(const struct support *support, LLVMBuilderRef builder, LLVMValueRef units)
{
    with_scope(support, LLVMBuildStore(builder, units, support->carry));
}

LLVMValueRef support_build_take(const struct support *support, LLVMBuilderRef builder)
{
    return with_scope(support, LLVMBuildLoad2(builder, support->ir->i64, support->carry, ""));
}

void support_build_flush(const struct support *support, LLVMBuilderRef builder, LLVMValueRef units)
{
    LLVMBuildCall2(builder, support->flush_type, support->flush, &units, 1, "");
}

/* Moves a computed goto into a block of its own after the builder's, and returns its target. */
static LLVMValueRef move_jump(const struct support *support, LLVMBuilderRef builder,
                              LLVMValueRef jump)
{
    LLVMBasicBlockRef block = LLVMGetInstructionParent(jump);
    LLVMBasicBlockRef moved = LLVMAppendBasicBlockInContext(
        support->ir->context, LLVMGetBasicBlockParent(block), "gasmeter.jump");
    unsigned count = LLVMGetNumSuccessors(jump);
    LLVMValueRef place, copy;

    LLVMBuildBr(builder, moved);
    LLVMPositionBuilderAtEnd(builder, moved);
    place = LLVMBuildPhi(builder, support->ir->pointer, "");
    copy = LLVMBuildIndirectBr(builder, place, count + 1);
    for (unsigned i = 0; i < count; i++)
        LLVMAddDestination(copy, LLVMGetSuccessor(jump, i));
    return place;
}

/*
 * indirectbr place   becomes   to = spent ? detour : place; br jump
 *                              jump: indirectbr to
 *                                    (or place, if `detour` led here)
 *                              detour: refill; br jump
 *
 * There must be only one indirectbr: LLVM can split the edges of one only.
 * With two, it would copy before each jump what any of the places needs.
 */
static void build_detour(const struct support *support, LLVMBuilderRef builder, LLVMValueRef spent,
                         LLVMValueRef jump)
{
    LLVMContextRef context = support->ir->context;
    LLVMBasicBlockRef block = LLVMGetInstructionParent(jump), detour;
    LLVMValueRef function = LLVMGetBasicBlockParent(block), place = LLVMGetOperand(jump, 0);
    LLVMValueRef next, either;

    detour = LLVMAppendBasicBlockInContext(context, function, "gasmeter.detour");
    either = LLVMBuildSelect(builder, spent, LLVMBlockAddress(function, detour), place, "");
    next = move_jump(support, builder, jump);
    LLVMAddDestination(LLVMGetBasicBlockTerminator(LLVMGetInstructionParent(next)), detour);
    LLVMPositionBuilderAtEnd(builder, detour);
    build_refill(support, builder);
    LLVMBuildBr(builder, LLVMGetInstructionParent(next));
    LLVMAddIncoming(next, (LLVMValueRef[]){either, place}, (LLVMBasicBlockRef[]){block, detour}, 2);
    LLVMInstructionEraseFromParent(jump);
}

/* Other code refers to the jump's block then, so it must not move. */
static bool leads_to_phi(LLVMValueRef jump)
{
    for (unsigned i = 0; i < LLVMGetNumSuccessors(jump); i++)
        if (LLVMIsAPHINode(LLVMGetFirstInstruction(LLVMGetSuccessor(jump, i))))
            return true;
    return false;
}

void support_build_dispatch(const struct support *support, LLVMBuilderRef builder,
                            LLVMValueRef units, LLVMValueRef jump)
{
    LLVMValueRef sum;

    if (leads_to_phi(jump)) {
        support_build_flush(support, builder, units);
        return;
    }
    sum = build_sum(support, builder, units);
    if (support->budgets)
        build_detour(support, builder, build_spent(support, builder, sum), jump);
}

void support_build_block(const struct support *support, LLVMBuilderRef builder, LLVMValueRef units)
{
    LLVMBuildCall2(builder, support->flush_type, support->block, &units, 1, "");
}

LLVMValueRef support_build_look(const struct support *support, LLVMBuilderRef builder,
                                LLVMValueRef pending)
{
    return LLVMBuildCall2(builder, support->look_type, support->look, &pending, 1, "");
}
