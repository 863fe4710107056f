/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_RUN_RUN_COMPILED_H
#define GASPIPE_SUPERVISOR_RUN_RUN_COMPILED_H

#include <limits.h>

#include "kernel/kernel.h"
#include "store/store.h"
#include "supervisor/compile/module_compiler.h"
#include "supervisor/run/run_options.h"

/*
 * Machine code of contracts in files, of which each is made once:
 * $XDG_CACHE_HOME/gaspipe/COMPILER/BUNDLE.so, or below $HOME/.cache. The names are hashes of the
 * compiler's program and of the contract. The protocol version is no part of them, because
 * compiled code takes what depends on it from the worker.
 */
struct compiled_cache {
    struct module_compiler compiler;
    char directory[PATH_MAX];
};

/* Finds the compiler and makes the directory. -1 with ERROR_SYSTEM. */
int compiled_cache_open(struct compiled_cache *cache, const struct confinement *confinement,
                        struct error *error);

/* Compiles the WebAssembly of the kernel's vats, and of those that are upgraded, unless the cache
 * has it. What cannot be compiled is interpreted, and a line says so. -1 with ERROR_SYSTEM. */
int run_compiled_provide(const struct compiled_cache *cache, const struct run_options *options,
                         struct store *store, struct kernel *kernel, struct error *error);

#endif
