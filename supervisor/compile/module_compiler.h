/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_COMPILE_MODULE_COMPILER_H
#define GASPIPE_SUPERVISOR_COMPILE_MODULE_COMPILER_H

#include <limits.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "supervisor/process/confinement.h"

/*
 * Compiles modules of WebAssembly to machine code, each in a process of its own: the sandbox
 * confines it and limits bound it, since a module is not trusted and LLVM has no limits.
 */
struct module_compiler {
    char path[PATH_MAX];                   /* gaspipe-wasm-compiler */
    const struct confinement *confinement; /* borrowed */
    uint64_t seconds;                      /* of CPU time */
    int64_t memory;                        /* bytes that the process may write to */
};

enum { MODULE_COMPILER_SECONDS = 60 };
#define MODULE_COMPILER_MEMORY (INT64_C(2) << 30)

/* Finds the program. -1 with ERROR_SYSTEM, which says how to get it. */
int module_compiler_find(struct module_compiler *compiler, const struct confinement *confinement,
                         struct error *error);

/* Compiles what is read from a file to the end of another. -1 with ERROR_INPUT if the module
 * cannot be compiled or exceeds the limits, or with ERROR_SYSTEM. */
int module_compiler_run(const struct module_compiler *compiler, int module, int output,
                        struct error *error);

/* The text that names this compiler: another one may compile the same module differently. */
int module_compiler_identity(const struct module_compiler *compiler, struct buf *identity,
                             struct error *error);

#endif
