/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_WORKER_WASM_COMPILE_COMPILE_H
#define GASPIPE_WORKER_WASM_COMPILE_COMPILE_H

#include "base/error.h"
#include "worker/wasm/compile/code.h"
#include "worker/wasm/module/module.h"

/*
 * Validates and compiles all functions of a decoded module: an array with a code for each
 * function, the imported ones first and empty; free it with wasm_code_free_all(). NULL with
 * *error and *fault, as wasm_module_decode(). `handlers` is the interpreter's
 * (wasm_handlers()). Time and memory are bounded by a multiple of the module's size.
 */
struct wasm_code *wasm_compile(struct wasm_module *module, const void *const *handlers,
                               enum wasm_fault *fault, struct error *error);
void wasm_code_free_all(struct wasm_code *codes, uint32_t count);

#endif
