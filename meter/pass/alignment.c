/* SPDX-License-Identifier: Apache-2.0 */
#include "meter/pass/alignment.h"

/* Bytes: a whole word, and for what is as large two of them. */
enum { WORD = 8, TWO_WORDS = 16 };

static void raise(const struct ir *ir, LLVMValueRef variable, LLVMTypeRef type)
{
    LLVMTypeKind kind = LLVMGetTypeKind(type);
    unsigned wanted;

    if (kind != LLVMArrayTypeKind && kind != LLVMStructTypeKind)
        return;
    wanted = LLVMABISizeOfType(ir->layout, type) < TWO_WORDS ? WORD : TWO_WORDS;
    if (LLVMGetAlignment(variable) < wanted)
        LLVMSetAlignment(variable, wanted);
}

static void raise_locals(const struct ir *ir, LLVMValueRef function)
{
    for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(function); block;
         block = LLVMGetNextBasicBlock(block))
        for (LLVMValueRef instruction = LLVMGetFirstInstruction(block); instruction;
             instruction = LLVMGetNextInstruction(instruction))
            if (LLVMIsAAllocaInst(instruction))
                raise(ir, instruction, LLVMGetAllocatedType(instruction));
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
            LLVMGetLinkage(global) != LLVMAppendingLinkage)
            raise(ir, global, LLVMGlobalGetValueType(global));
    for (LLVMValueRef function = LLVMGetFirstFunction(ir->module); function;
         function = LLVMGetNextFunction(function))
        raise_locals(ir, function);
}
