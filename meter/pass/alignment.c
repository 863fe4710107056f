/* SPDX-License-Identifier: Apache-2.0 */
#include "meter/pass/alignment.h"

/* Bytes: from this size on, and to this. */
enum { LARGE_ARRAY = 16 };

static bool is_large_array(const struct ir *ir, LLVMTypeRef type)
{
    return LLVMGetTypeKind(type) == LLVMArrayTypeKind &&
           LLVMABISizeOfType(ir->layout, type) >= LARGE_ARRAY;
}

static void raise(LLVMValueRef variable)
{
    if (LLVMGetAlignment(variable) < LARGE_ARRAY)
        LLVMSetAlignment(variable, LARGE_ARRAY);
}

static void raise_locals(const struct ir *ir, LLVMValueRef function)
{
    for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(function); block;
         block = LLVMGetNextBasicBlock(block))
        for (LLVMValueRef instruction = LLVMGetFirstInstruction(block); instruction;
             instruction = LLVMGetNextInstruction(instruction))
            if (LLVMIsAAllocaInst(instruction) &&
                is_large_array(ir, LLVMGetAllocatedType(instruction)))
                raise(instruction);
}

/* What a linker or a loop over a section puts in a row has no room for gaps. */
static bool is_in_section(LLVMValueRef global)
{
    const char *section = LLVMGetSection(global);

    return section && *section;
}

void alignment_raise(const struct ir *ir)
{
    for (LLVMValueRef global = LLVMGetFirstGlobal(ir->module); global;
         global = LLVMGetNextGlobal(global))
        if (!LLVMIsDeclaration(global) && !is_in_section(global) &&
            LLVMGetLinkage(global) != LLVMAppendingLinkage &&
            is_large_array(ir, LLVMGlobalGetValueType(global)))
            raise(global);
    for (LLVMValueRef function = LLVMGetFirstFunction(ir->module); function;
         function = LLVMGetNextFunction(function))
        raise_locals(ir, function);
}
