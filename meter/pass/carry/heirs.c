/* SPDX-License-Identifier: Apache-2.0 */
#include "meter/pass/carry/heirs.h"

/* Does it only call the function? Then it does not pass its address on as an argument either. */
static bool only_calls(LLVMValueRef user, LLVMValueRef function)
{
    if (!LLVMIsACallInst(user) && !LLVMIsAInvokeInst(user))
        return false;
    for (unsigned i = 0; i < LLVMGetNumArgOperands(user); i++)
        if (LLVMGetOperand(user, i) == function)
            return false;
    return ir_callee_here(user) == function;
}

static bool is_heir(LLVMValueRef function)
{
    if (!ir_has_body(function) || !ir_is_own(function))
        return false;
    for (LLVMUseRef use = LLVMGetFirstUse(function); use; use = LLVMGetNextUse(use))
        if (!only_calls(LLVMGetUser(use), function))
            return false;
    return true;
}

void heirs_find(struct pointer_set *heirs, const struct ir *ir, const struct pointer_set *bounded)
{
    for (LLVMValueRef function = LLVMGetFirstFunction(ir->module); function;
         function = LLVMGetNextFunction(function))
        if (is_heir(function) && !pointer_set_find(bounded, function, NULL))
            pointer_set_add(heirs, function, 0);
}

bool heirs_calls(const struct pointer_set *heirs, LLVMValueRef instruction)
{
    LLVMValueRef callee = ir_callee_here(instruction);

    return callee && pointer_set_find(heirs, callee, NULL);
}
