/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "meter/pass/attributes.h"

static const char *const dropped[] = {
    "memory", "willreturn", "speculatable", "nosync", "mustprogress", "allockind", "nocallback",
};

static void strip_function(LLVMValueRef function)
{
    for (size_t i = 0; i < sizeof dropped / sizeof *dropped; i++)
        LLVMRemoveEnumAttributeAtIndex(function, LLVMAttributeFunctionIndex,
                                       ir_attribute_kind(dropped[i]));
    LLVMRemoveStringAttributeAtIndex(function, LLVMAttributeFunctionIndex, "alloc-family", 12);
}

static void strip_call(const struct ir *ir, LLVMValueRef call)
{
    LLVMAttributeRef no_builtin =
        LLVMCreateEnumAttribute(ir->context, ir_attribute_kind("nobuiltin"), 0);

    for (size_t i = 0; i < sizeof dropped / sizeof *dropped; i++)
        LLVMRemoveCallSiteEnumAttribute(call, LLVMAttributeFunctionIndex,
                                        ir_attribute_kind(dropped[i]));
    LLVMRemoveCallSiteEnumAttribute(call, LLVMAttributeFunctionIndex, ir_attribute_kind("builtin"));
    LLVMAddCallSiteAttribute(call, LLVMAttributeFunctionIndex, no_builtin);
}

static bool is_stripped(const struct ir *ir, LLVMValueRef instruction)
{
    return ir_is_call(instruction) && !ir_is_intrinsic_call(instruction) &&
           !LLVMIsAInlineAsm(LLVMGetCalledValue(instruction)) && !ir_libc_call(ir, instruction);
}

static void strip_calls(const struct ir *ir, LLVMValueRef function)
{
    for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(function); block;
         block = LLVMGetNextBasicBlock(block))
        for (LLVMValueRef instruction = LLVMGetFirstInstruction(block); instruction;
             instruction = LLVMGetNextInstruction(instruction))
            if (is_stripped(ir, instruction))
                strip_call(ir, instruction);
}

/* The table's functions of libc keep what clang knows of them. */
static bool is_known(const struct ir *ir, LLVMValueRef function, const char *name)
{
    return ir_starts_with(name, "llvm.") ||
           (!ir_has_body(function) && cost_of_call(ir->costs, name));
}

static void give_to_runtime(LLVMValueRef function, const char *name)
{
    static const struct {
        const char *name;
        const char *own;
    } calls[] = {
        {"_exit", "gasmeter_call_exit"},      {"_Exit", "gasmeter_call_exit"},
        {"execl", "gasmeter_call_execl"},     {"execle", "gasmeter_call_execle"},
        {"execlp", "gasmeter_call_execlp"},   {"execv", "gasmeter_call_execv"},
        {"execve", "gasmeter_call_execve"},   {"execveat", "gasmeter_call_execveat"},
        {"execvp", "gasmeter_call_execvp"},   {"execvpe", "gasmeter_call_execvpe"},
        {"fexecve", "gasmeter_call_fexecve"}, {"sigaction", "gasmeter_call_sigaction"},
        {"signal", "gasmeter_call_signal"},
    };

    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        LLVMValueRef own;

        if (strcmp(name, calls[i].name) != 0)
            continue;
        own = LLVMGetNamedFunction(LLVMGetGlobalParent(function), calls[i].own);
        if (!own)
            own = LLVMAddFunction(LLVMGetGlobalParent(function), calls[i].own,
                                  LLVMGlobalGetValueType(function));
        LLVMReplaceAllUsesWith(function, own);
    }
}

void attributes_prepare(const struct ir *ir)
{
    for (LLVMValueRef function = LLVMGetFirstFunction(ir->module); function;
         function = LLVMGetNextFunction(function)) {
        size_t length;
        const char *name = LLVMGetValueName2(function, &length);

        if (LLVMGetLinkage(function) == LLVMAvailableExternallyLinkage)
            LLVMSetLinkage(function, LLVMInternalLinkage);
        if (!is_known(ir, function, name))
            strip_function(function);
        if (!ir_has_body(function))
            give_to_runtime(function, name);
        strip_calls(ir, function);
    }
}
