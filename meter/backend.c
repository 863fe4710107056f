/* SPDX-License-Identifier: Apache-2.0 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <llvm-c/Analysis.h>
#include <llvm-c/BitWriter.h>
#include <llvm-c/IRReader.h>
#include <llvm-c/Support.h>
#include <llvm-c/Transforms/PassBuilder.h>

#include "meter/backend.h"

/* Takes LLVM's message, which it gives back. */
static int backend_refuse(enum error_kind kind, const char *what, char *message,
                          struct error *error)
{
    if (message)
        message[strcspn(message, "\n")] = '\0';
    error_set(error, kind, "%s: %s", what, message ? message : "LLVM does not say why");
    LLVMDisposeMessage(message);
    return -1;
}

static void initialize_targets(void)
{
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMInitializeX86AsmParser();
    LLVMInitializeAArch64TargetInfo();
    LLVMInitializeAArch64Target();
    LLVMInitializeAArch64TargetMC();
    LLVMInitializeAArch64AsmPrinter();
    LLVMInitializeAArch64AsmParser();
}

/* -fPIC and -fpie leave a flag in the module. */
static LLVMRelocMode relocation_of(LLVMModuleRef module)
{
    return LLVMGetModuleFlag(module, "PIC Level", strlen("PIC Level")) ? LLVMRelocPIC
                                                                       : LLVMRelocStatic;
}

static bool is_supported(const char *triple)
{
    return strncmp(triple, "x86_64-", 7) == 0 || strncmp(triple, "aarch64-", 8) == 0;
}

/* The functions' own attributes say for which processor; this is for what has none. */
static int make_machine(struct backend *backend, const char *path, struct error *error)
{
    const char *triple = LLVMGetTarget(backend->module);
    LLVMTargetRef target;
    char *message = NULL;

    if (!is_supported(triple))
        return error_set(error, ERROR_INPUT,
                         "%s: it is for '%s'; x86-64 and aarch64 can be metered", path, triple);
    if (LLVMGetTargetFromTriple(triple, &target, &message))
        return backend_refuse(ERROR_INPUT, path, message, error);
    backend->machine =
        LLVMCreateTargetMachine(target, triple, "generic", "", LLVMCodeGenLevelDefault,
                                relocation_of(backend->module), LLVMCodeModelDefault);
    backend->layout = LLVMCreateTargetDataLayout(backend->machine);
    return 0;
}

static int read_module(struct backend *backend, const char *path, struct error *error)
{
    LLVMMemoryBufferRef buffer;
    char *message = NULL;

    if (strcmp(path, "-") == 0 ? LLVMCreateMemoryBufferWithSTDIN(&buffer, &message)
                               : LLVMCreateMemoryBufferWithContentsOfFile(path, &buffer, &message))
        return backend_refuse(ERROR_INPUT, path, message, error);
    if (LLVMParseIRInContext(backend->context, buffer, &backend->module, &message))
        return backend_refuse(ERROR_INPUT, path, message, error);
    return 0;
}

/*
 * LLVM weighs metered code by what it would have done with it before. A loop ends where the first
 * of two numbers of turns is reached: by LLVM's own measure that is too dear for working out
 * beforehand what is pending behind the loop, and a sum of 64 bits within it makes its vectors half
 * as wide. A flush with its look at the budget weighs as much as a call, so that small functions
 * would not be inlined any more: calls weigh nothing instead, and blocks may add up to a little
 * more.
 */
static void weigh_as_before(void)
{
    static const char *const arguments[] = {
        "gaspipe-meter",         "-scev-cheap-expansion-budget=12", "-inline-call-penalty=0",
        "-inline-threshold=350", "-inlinehint-threshold=500",
    };

    LLVMParseCommandLineOptions(sizeof arguments / sizeof *arguments, arguments, "");
}

void backend_prepare(void)
{
    initialize_targets();
    weigh_as_before();
}

int backend_open(struct backend *backend, const char *path, struct error *error)
{
    *backend = (struct backend){.context = LLVMContextCreate()};
    if (read_module(backend, path, error) || make_machine(backend, path, error)) {
        backend_close(backend);
        return -1;
    }
    return 0;
}

void backend_close(struct backend *backend)
{
    if (backend->layout)
        LLVMDisposeTargetData(backend->layout);
    if (backend->machine)
        LLVMDisposeTargetMachine(backend->machine);
    if (backend->module)
        LLVMDisposeModule(backend->module);
    LLVMContextDispose(backend->context);
    *backend = (struct backend){0};
}

int backend_optimize(struct backend *backend, const char *passes, struct error *error)
{
    LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
    LLVMErrorRef failure;

    LLVMPassBuilderOptionsSetLoopVectorization(options, true);
    LLVMPassBuilderOptionsSetSLPVectorization(options, true);
    LLVMPassBuilderOptionsSetLoopInterleaving(options, true);
    LLVMPassBuilderOptionsSetLoopUnrolling(options, true);
    failure = LLVMRunPasses(backend->module, passes, backend->machine, options);
    LLVMDisposePassBuilderOptions(options);
    if (failure) {
        char *words = LLVMGetErrorMessage(failure);

        error_set(error, ERROR_SYSTEM, "passes '%s': %s", passes, words);
        LLVMDisposeErrorMessage(words);
        return -1;
    }
    return 0;
}

int backend_verify(struct backend *backend, struct error *error)
{
    char *message = NULL;

    if (LLVMVerifyModule(backend->module, LLVMReturnStatusAction, &message))
        return backend_refuse(ERROR_SYSTEM, "the metered module is not sound", message, error);
    LLVMDisposeMessage(message);
    return 0;
}

static bool ends_with(const char *path, const char *end)
{
    size_t length = strlen(path), end_length = strlen(end);

    return length > end_length && strcmp(path + length - end_length, end) == 0;
}

int backend_write(struct backend *backend, const char *path, struct error *error)
{
    char *message = NULL;
    bool failed;

    if (ends_with(path, ".bc"))
        failed = LLVMWriteBitcodeToFile(backend->module, path) != 0;
    else if (ends_with(path, ".ll"))
        failed = LLVMPrintModuleToFile(backend->module, path, &message);
    else
        failed = LLVMTargetMachineEmitToFile(
            backend->machine, backend->module, path,
            ends_with(path, ".s") ? LLVMAssemblyFile : LLVMObjectFile, &message);
    return failed ? backend_refuse(ERROR_SYSTEM, path, message, error) : 0;
}
