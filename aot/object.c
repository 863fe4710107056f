/* SPDX-License-Identifier: Apache-2.0 */
#include "aot/object.h"

#include <llvm-c/Error.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>
#include <llvm-c/Transforms/PassBuilder.h>

/* Roundings are one instruction from SSE 4.1 on; before, LLVM calls a library. */
#define AOT_TRIPLE "x86_64-unknown-linux-gnu"
#define AOT_CPU    "x86-64-v2"

/* A module was optimized when it was made; more passes take longer than they save. */
#define AOT_PASSES "function(sroa,early-cse<memssa>,instcombine<no-verify-fixpoint>,simplifycfg)"

static LLVMTargetMachineRef open_machine(struct error *error)
{
    LLVMTargetRef target;
    char *words = NULL;

    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMInitializeX86AsmParser(); /* for the assembly that holds loads */
    if (LLVMGetTargetFromTriple(AOT_TRIPLE, &target, &words) != 0) {
        error_set(error, ERROR_SYSTEM, "LLVM: %s", words);
        LLVMDisposeMessage(words);
        return NULL;
    }
    return LLVMCreateTargetMachine(target, AOT_TRIPLE, AOT_CPU, "", LLVMCodeGenLevelDefault,
                                   LLVMRelocPIC, LLVMCodeModelDefault);
}

static int run_passes(LLVMModuleRef module, LLVMTargetMachineRef machine, struct error *error)
{
    LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
    LLVMErrorRef failure = LLVMRunPasses(module, AOT_PASSES, machine, options);
    char *words;

    LLVMDisposePassBuilderOptions(options);
    if (failure == LLVMErrorSuccess)
        return 0;
    words = LLVMGetErrorMessage(failure);
    error_set(error, ERROR_SYSTEM, "LLVM: %s", words);
    LLVMDisposeErrorMessage(words);
    return -1;
}

LLVMMemoryBufferRef aot_compile_object(LLVMModuleRef module, struct error *error)
{
    LLVMTargetMachineRef machine = open_machine(error);
    LLVMMemoryBufferRef object = NULL;
    LLVMTargetDataRef layout;
    char *words = NULL;

    if (machine == NULL)
        return NULL;
    layout = LLVMCreateTargetDataLayout(machine);
    LLVMSetTarget(module, AOT_TRIPLE);
    LLVMSetModuleDataLayout(module, layout);
    LLVMDisposeTargetData(layout);
    if (run_passes(module, machine, error) == 0 &&
        LLVMTargetMachineEmitToMemoryBuffer(machine, module, LLVMObjectFile, &words, &object) !=
            0) {
        error_set(error, ERROR_SYSTEM, "LLVM: %s", words);
        LLVMDisposeMessage(words);
        object = NULL;
    }
    LLVMDisposeTargetMachine(machine);
    return object;
}
