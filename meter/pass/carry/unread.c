/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "meter/pass/carry/unread.h"
#include "meter/pass/ir/pointer_set.h"

static const char unread[] = "gasmeter-carry-unread";

/* One function at work. A block's number in `live` says that the carry is read behind its
 * beginning, before anybody stores to it. */
struct search {
    LLVMValueRef carry;
    LLVMValueRef function;
    struct pointer_set live;
    bool changed;
    bool removes;
};

void unread_mark(const struct ir *ir, LLVMValueRef function)
{
    LLVMAddAttributeAtIndex(
        function, LLVMAttributeFunctionIndex,
        LLVMCreateStringAttribute(ir->context, unread, (unsigned)strlen(unread), "", 0));
}

/* Only functions of the module's own, called by name, take over what is pending. */
static bool calls_reader(LLVMValueRef instruction)
{
    LLVMValueRef callee = ir_callee_here(instruction);

    return callee && ir_is_own(callee);
}

static bool returns_to_reader(LLVMValueRef instruction, LLVMValueRef function)
{
    return LLVMIsAReturnInst(instruction) && ir_is_own(function) &&
           !LLVMGetStringAttributeAtIndex(function, LLVMAttributeFunctionIndex, unread,
                                          (unsigned)strlen(unread));
}

static bool names(LLVMValueRef instruction, LLVMValueRef value)
{
    for (unsigned i = 0; i < (unsigned)LLVMGetNumOperands(instruction); i++)
        if (LLVMGetOperand(instruction, i) == value)
            return true;
    return false;
}

static bool stores(LLVMValueRef instruction, LLVMValueRef carry)
{
    return LLVMIsAStoreInst(instruction) && LLVMGetOperand(instruction, 1) == carry;
}

/* Is the carry read behind the beginning of one of the blocks that the last instruction leads to?
 */
static bool is_live_behind(const struct search *search, LLVMValueRef last)
{
    for (unsigned i = 0; i < LLVMGetNumSuccessors(last); i++)
        if (pointer_set_find(&search->live, LLVMGetSuccessor(last, i), NULL))
            return true;
    return false;
}

static void search_block(struct search *search, LLVMBasicBlockRef block)
{
    LLVMValueRef instruction = LLVMGetLastInstruction(block), before;
    bool live = is_live_behind(search, instruction);

    for (; instruction; instruction = before) {
        before = LLVMGetPreviousInstruction(instruction);
        if (stores(instruction, search->carry)) {
            if (!live && search->removes)
                LLVMInstructionEraseFromParent(instruction);
            live = false;
        } else {
            live |= names(instruction, search->carry) || calls_reader(instruction) ||
                    returns_to_reader(instruction, search->function);
        }
    }
    if (live && !pointer_set_find(&search->live, block, NULL)) {
        pointer_set_add(&search->live, block, 0);
        search->changed = true;
    }
}

static void search_blocks(struct search *search)
{
    search->changed = false;
    for (LLVMBasicBlockRef block = LLVMGetLastBasicBlock(search->function); block;
         block = LLVMGetPreviousBasicBlock(block))
        search_block(search, block);
}

static void remove_in(LLVMValueRef function, LLVMValueRef carry)
{
    struct search search = {.carry = carry, .function = function};

    do
        search_blocks(&search);
    while (search.changed);
    search.removes = true;
    search_blocks(&search);
    pointer_set_free(&search.live);
}

void unread_remove(const struct ir *ir)
{
    LLVMValueRef carry = LLVMGetNamedGlobal(ir->module, "gasmeter_carry");

    for (LLVMValueRef function = LLVMGetFirstFunction(ir->module); carry && function;
         function = LLVMGetNextFunction(function))
        if (ir_has_body(function))
            remove_in(function, carry);
}
