/* SPDX-License-Identifier: Apache-2.0 */
#include "meter/pass/carry.h"

#include <llvm-c/DebugInfo.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"
#include "meter/pass/charge.h"

/* Returns true if the user only calls the function, and does not also pass its address. */
static bool only_calls(LLVMValueRef user, LLVMValueRef function)
{
    if (!LLVMIsACallInst(user) && !LLVMIsAInvokeInst(user))
        return false;
    for (unsigned i = 0; i < LLVMGetNumArgOperands(user); i++)
        if (LLVMGetOperand(user, i) == function)
            return false;
    return ir_callee_here(user) == function;
}

static bool is_local_callee(LLVMValueRef function)
{
    if (!ir_has_body(function) || !ir_is_own(function))
        return false;
    for (LLVMUseRef use = LLVMGetFirstUse(function); use; use = LLVMGetNextUse(use))
        if (!only_calls(LLVMGetUser(use), function))
            return false;
    return true;
}

void local_callees_find(struct pointer_set *local_callees, const struct ir *ir,
                        const struct bounded *bounded)
{
    for (LLVMValueRef function = LLVMGetFirstFunction(ir->module); function;
         function = LLVMGetNextFunction(function))
        if (is_local_callee(function) && !pointer_set_find(&bounded->functions, function, NULL) &&
            !pointer_set_find(&bounded->outers, function, NULL))
            pointer_set_add(local_callees, function, 0);
}

bool local_callees_calls(const struct pointer_set *local_callees, LLVMValueRef instruction)
{
    LLVMValueRef callee = ir_callee_here(instruction);

    return callee && pointer_set_find(local_callees, callee, NULL);
}

/* ---- bounded functions ---------------------------------------------------------- */

/* The state of a function or block in the search. A value from SEEN_UNITS on means that it is
 * bounded and costs the difference. */
enum { SEEN_OPEN, SEEN_DONE, SEEN_UNITS };

#define TOO_MANY UINT64_MAX

struct search {
    const struct ir *ir;
    struct pointer_set functions;
};

static uint64_t units_of_function(struct search *search, LLVMValueRef function);

/* Returns true if this body runs, whatever other modules define. */
static bool is_definitive(LLVMValueRef function)
{
    switch (LLVMGetLinkage(function)) {
    case LLVMExternalLinkage:
    case LLVMInternalLinkage:
    case LLVMPrivateLinkage:
    case LLVMLinkOnceODRLinkage:
    case LLVMWeakODRLinkage:
        return true;
    default:
        return false;
    }
}

/* Returns true if control may leave for a place other than the next instruction, a successor, or
 * the caller. */
static bool leads_away(const struct charge *charge, LLVMValueRef instruction)
{
    switch (LLVMGetInstructionOpcode(instruction)) {
    case LLVMInvoke:
    case LLVMCallBr:
    case LLVMResume:
    case LLVMIndirectBr:
    case LLVMLandingPad:
        return true;
    case LLVMCall:
        return LLVMGetTailCallKind(instruction) == LLVMTailCallKindMustTail ||
               LLVMIsAInlineAsm(LLVMGetCalledValue(instruction)) ||
               (!ir_callee_here(instruction) && charge_leaves(charge, instruction));
    default:
        return false;
    }
}

static uint64_t units_of_instruction(struct search *search, const struct charge *charge,
                                     LLVMValueRef instruction)
{
    LLVMValueRef callee = ir_callee_here(instruction);
    uint64_t within = callee ? units_of_function(search, callee) : 0;

    if (within == TOO_MANY || leads_away(charge, instruction) ||
        charge_is_variable(charge, instruction))
        return TOO_MANY;
    return within + charge_fixed(charge, instruction);
}

static uint64_t units_of_block(struct search *search, const struct charge *charge,
                               LLVMBasicBlockRef block)
{
    uint64_t sum = 0;

    for (LLVMValueRef instruction = LLVMGetFirstInstruction(block); instruction;
         instruction = LLVMGetNextInstruction(instruction)) {
        uint64_t units = units_of_instruction(search, charge, instruction);

        if (units > BOUNDED_MAX || sum + units > BOUNDED_MAX)
            return TOO_MANY;
        sum += units;
    }
    return sum;
}

/* The sum over all blocks: an upper bound of every path. */
static uint64_t units_of_blocks(struct search *search, LLVMValueRef function)
{
    struct charge charge;
    uint64_t sum = 0;

    charge_init(&charge, search->ir, NULL, function);
    for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(function); block && sum != TOO_MANY;
         block = LLVMGetNextBasicBlock(block)) {
        uint64_t units = units_of_block(search, &charge, block);

        sum = units == TOO_MANY || sum + units > BOUNDED_MAX ? TOO_MANY : sum + units;
    }
    charge_free(&charge);
    return sum;
}

/* Depth-first search. Returns true if an edge leads back to an open block. */
static bool has_back_edge(struct pointer_set *blocks, LLVMBasicBlockRef block)
{
    LLVMValueRef last = LLVMGetBasicBlockTerminator(block);
    size_t known;

    if (pointer_set_find(blocks, block, &known))
        return known == SEEN_OPEN;
    pointer_set_add(blocks, block, SEEN_OPEN);
    for (unsigned i = 0; i < LLVMGetNumSuccessors(last); i++)
        if (has_back_edge(blocks, LLVMGetSuccessor(last, i)))
            return true;
    pointer_set_add(blocks, block, SEEN_DONE);
    return false;
}

/* Call this only for cheap functions, which have few blocks. */
static bool has_loop(LLVMValueRef function)
{
    struct pointer_set blocks = {0};
    bool found = has_back_edge(&blocks, LLVMGetEntryBasicBlock(function));

    pointer_set_free(&blocks);
    return found;
}

/* Returns TOO_MANY if the function is not bounded. A recursive function finds itself in state
 * SEEN_OPEN. */
static uint64_t units_of_function(struct search *search, LLVMValueRef function)
{
    uint64_t units = TOO_MANY;
    size_t known;

    if (pointer_set_find(&search->functions, function, &known))
        return known >= SEEN_UNITS ? known - SEEN_UNITS : TOO_MANY;
    pointer_set_add(&search->functions, function, SEEN_OPEN);
    if (is_definitive(function) && !LLVMIsFunctionVarArg(LLVMGlobalGetValueType(function)))
        units = units_of_blocks(search, function);
    if (units != TOO_MANY && has_loop(function))
        units = TOO_MANY;
    pointer_set_add(&search->functions, function,
                    units == TOO_MANY ? SEEN_DONE : units + SEEN_UNITS);
    return units;
}

/* ---- splitting into an inner and an outer function ------------------------------- */

static void copy_attributes(LLVMValueRef from, LLVMAttributeIndex place, LLVMValueRef to, bool call)
{
    unsigned count = LLVMGetAttributeCountAtIndex(from, place);
    LLVMAttributeRef *attributes = pass_allocate(count, sizeof(LLVMAttributeRef));

    LLVMGetAttributesAtIndex(from, place, attributes);
    for (unsigned i = 0; i < count; i++)
        if (call)
            LLVMAddCallSiteAttribute(to, place, attributes[i]);
        else
            LLVMAddAttributeAtIndex(to, place, attributes[i]);
    free(attributes);
}

static void copy_interface(LLVMValueRef from, LLVMValueRef to, bool call)
{
    for (LLVMAttributeIndex i = 0; i <= LLVMCountParams(from); i++)
        copy_attributes(from, i, to, call);
}

static LLVMValueRef declare_inner(const struct ir *ir, LLVMValueRef function)
{
    LLVMValueRef inner = LLVMAddFunction(ir->module, "", LLVMGlobalGetValueType(function));
    struct buf name = {0};
    size_t length;
    const char *outer = LLVMGetValueName2(function, &length);

    buf_append(&name, outer, length);
    buf_append(&name, ".bounded", strlen(".bounded"));
    if (buf_failed(&name))
        exit(4);
    LLVMSetValueName2(inner, name.data, name.length);
    buf_free(&name);
    LLVMSetLinkage(inner, LLVMInternalLinkage);
    LLVMSetFunctionCallConv(inner, LLVMGetFunctionCallConv(function));
    copy_attributes(function, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, inner, false);
    copy_interface(function, inner, false);
    return inner;
}

static void move_parameter(LLVMValueRef from, LLVMValueRef to)
{
    size_t length;
    char *name = strdup(LLVMGetValueName2(from, &length));

    if (!name)
        exit(4);
    LLVMSetValueName2(from, "", 0);
    LLVMSetValueName2(to, name, length);
    free(name);
    LLVMReplaceAllUsesWith(from, to);
}

/* LLVMMoveBasicBlockBefore() does not set the blocks' parent function. */
static void move_blocks(LLVMValueRef from, LLVMValueRef to)
{
    LLVMContextRef context = LLVMGetModuleContext(LLVMGetGlobalParent(from));
    LLVMBasicBlockRef place = LLVMAppendBasicBlockInContext(context, to, ""), block;

    while ((block = LLVMGetFirstBasicBlock(from)))
        LLVMMoveBasicBlockAfter(block, LLVMGetLastBasicBlock(to));
    LLVMDeleteBasicBlock(place);
}

static void move_body(const struct ir *ir, LLVMValueRef function, LLVMValueRef inner)
{
    LLVMMetadataRef description = LLVMGetSubprogram(function);

    move_blocks(function, inner);
    for (unsigned i = 0; i < LLVMCountParams(function); i++)
        move_parameter(LLVMGetParam(function, i), LLVMGetParam(inner, i));
    if (description) {
        LLVMGlobalEraseMetadata(function, LLVMGetMDKindIDInContext(ir->context, "dbg", 3));
        LLVMSetSubprogram(inner, description);
    }
}

/* Collects all calls before changing any, because a change removes a call from the list of uses. */
static void redirect_calls(LLVMValueRef function, LLVMValueRef inner)
{
    LLVMValueRef *calls = NULL;
    size_t count = 0, capacity = 0;

    for (LLVMUseRef use = LLVMGetFirstUse(function); use; use = LLVMGetNextUse(use)) {
        LLVMValueRef user = LLVMGetUser(use);

        if (!LLVMIsACallInst(user) || ir_callee_here(user) != function)
            continue;
        calls = array_reserve(calls, &capacity, count + 1, sizeof(LLVMValueRef));
        if (!calls)
            exit(4);
        calls[count++] = user;
    }
    for (size_t i = 0; i < count; i++)
        LLVMSetOperand(calls[i], (unsigned)LLVMGetNumOperands(calls[i]) - 1, inner);
    free(calls);
}

static void build_flushing_outer(const struct ir *ir, LLVMValueRef function, LLVMValueRef inner)
{
    LLVMBuilderRef builder = LLVMCreateBuilderInContext(ir->context);
    unsigned count = LLVMCountParams(function);
    LLVMValueRef *parameters = pass_allocate(count, sizeof(LLVMValueRef)), call;

    LLVMPositionBuilderAtEnd(builder, LLVMAppendBasicBlockInContext(ir->context, function, ""));
    LLVMGetParams(function, parameters);
    call = LLVMBuildCall2(builder, LLVMGlobalGetValueType(inner), inner, parameters, count, "");
    LLVMSetInstructionCallConv(call, LLVMGetFunctionCallConv(inner));
    copy_interface(function, call, true);
    if (LLVMGetTypeKind(LLVMTypeOf(call)) == LLVMVoidTypeKind)
        LLVMBuildRetVoid(builder);
    else
        LLVMBuildRet(builder, call);
    free(parameters);
    LLVMDisposeBuilder(builder);
}

static LLVMValueRef split(const struct ir *ir, LLVMValueRef function)
{
    LLVMValueRef inner = declare_inner(ir, function);

    redirect_calls(function, inner);
    move_body(ir, function, inner);
    build_flushing_outer(ir, function, inner);
    return inner;
}

/* ---- all of it ------------------------------------------------------------------ */

struct users {
    bool calls;  /* the module calls it */
    bool others; /* code outside of the module may call it */
};

static struct users users_of(LLVMValueRef function)
{
    struct users users = {.others = !ir_is_own(function)};

    for (LLVMUseRef use = LLVMGetFirstUse(function); use; use = LLVMGetNextUse(use)) {
        LLVMValueRef user = LLVMGetUser(use);
        bool is_call = LLVMIsACallInst(user) && ir_callee_here(user) == function;

        users.calls |= is_call;
        users.others |= !is_call;
        for (unsigned i = 0; is_call && i < LLVMGetNumArgOperands(user); i++)
            users.others |= LLVMGetOperand(user, i) == function;
    }
    return users;
}

static void bounded_take(struct bounded *bounded, const struct ir *ir, LLVMValueRef function)
{
    struct users users = users_of(function);

    if (!users.calls)
        return;
    pointer_set_add(&bounded->functions, users.others ? split(ir, function) : function, 0);
    if (users.others)
        pointer_set_add(&bounded->outers, function, 0);
}

void bounded_split(struct bounded *bounded, const struct ir *ir)
{
    struct search search = {.ir = ir};
    LLVMValueRef last = LLVMGetLastFunction(ir->module);

    *bounded = (struct bounded){0};
    for (LLVMValueRef function = LLVMGetFirstFunction(ir->module); function;
         function = LLVMGetNextFunction(function))
        if (ir_has_body(function))
            (void)units_of_function(&search, function);
    for (LLVMValueRef function = LLVMGetFirstFunction(ir->module); function;
         function = LLVMGetNextFunction(function)) {
        size_t known;

        if (pointer_set_find(&search.functions, function, &known) && known >= SEEN_UNITS)
            bounded_take(bounded, ir, function);
        if (function == last)
            break;
    }
    pointer_set_free(&search.functions);
}

void bounded_free(struct bounded *bounded)
{
    pointer_set_free(&bounded->functions);
    pointer_set_free(&bounded->outers);
}
