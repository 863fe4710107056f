/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_METER_BACKEND_H
#define GASPIPE_METER_BACKEND_H

#include <llvm-c/Core.h>
#include <llvm-c/TargetMachine.h>

#include "base/error.h"

/* LLVM around the pass: reading modules, optimising, writing. */
struct backend {
    LLVMContextRef context;
    LLVMModuleRef module;
    LLVMTargetMachineRef machine;
    LLVMTargetDataRef layout;
};

/* Once, before the first module. */
void backend_prepare(void);

/*
 * Reads bitcode or LLVM's language from a file ("-": standard input). 0, or -1 with
 * ERROR_INPUT. On success backend_close() is the caller's to call.
 */
int backend_open(struct backend *backend, const char *path, struct error *error);

void backend_close(struct backend *backend);

/* Runs LLVM's passes, for instance "default<O2>". */
int backend_optimize(struct backend *backend, const char *passes, struct error *error);

/* -1 with ERROR_SYSTEM where the module is no longer sound: a fault of the pass. */
int backend_verify(struct backend *backend, struct error *error);

/* By the path's end: .ll text, .bc bitcode, .s assembly, all else an object file. */
int backend_write(struct backend *backend, const char *path, struct error *error);

#endif
