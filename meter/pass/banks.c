/* SPDX-License-Identifier: Apache-2.0 */
#include "meter/pass/banks.h"

/* By name, so that a build comes out the same each time. */
static unsigned bank_of(LLVMValueRef function)
{
    size_t length;
    const char *name = LLVMGetValueName2(function, &length);
    unsigned hash = 5381;

    for (size_t i = 0; i < length; i++)
        hash = hash * 33 + (unsigned char)name[i];
    return (hash ^ hash >> 7) % SUPPORT_BANKS;
}

static LLVMValueRef address_of(const struct ir *ir, LLVMValueRef banks, unsigned bank)
{
    LLVMValueRef indices[] = {ir_number(ir, 0), ir_number(ir, bank)};

    return LLVMConstInBoundsGEP2(LLVMGlobalGetValueType(banks), banks, indices, 2);
}

/* All of a function's accesses or none: a load of one bank and a store to another would lose. */
static void move_accesses(LLVMValueRef instruction, LLVMValueRef banks, LLVMValueRef bank)
{
    for (int i = 0; i < LLVMGetNumOperands(instruction); i++)
        if (LLVMGetOperand(instruction, (unsigned)i) == banks)
            LLVMSetOperand(instruction, (unsigned)i, bank);
}

void banks_spread(const struct ir *ir)
{
    LLVMValueRef banks = LLVMGetNamedGlobal(ir->module, "gasmeter_banks");

    if (!banks)
        return;
    for (LLVMValueRef function = LLVMGetFirstFunction(ir->module); function;
         function = LLVMGetNextFunction(function)) {
        LLVMValueRef bank = address_of(ir, banks, bank_of(function));

        for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(function); block;
             block = LLVMGetNextBasicBlock(block))
            for (LLVMValueRef instruction = LLVMGetFirstInstruction(block); instruction;
                 instruction = LLVMGetNextInstruction(instruction))
                move_accesses(instruction, banks, bank);
    }
}
