/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_WORKER_WASM_COMPILED_COMPILED_H
#define GASPIPE_WORKER_WASM_COMPILED_COMPILED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "worker/wasm/compiled/layout.h"
#include "worker/wasm/run/instance.h"

/*
 * Machine code of a module, and the place of its memory. It gives what the interpreter gives, or
 * abandons the call: then what that did to the instance is to be discarded, and the interpreter
 * repeats it.
 */
struct compiled_code;

/*
 * Loads a file of `gaspipe compile`. Executable memory is mapped here and never later. NULL with
 * ERROR_INPUT if the file is not one, or ERROR_SYSTEM; the text names the file.
 */
struct compiled_code *compiled_code_open(const char *path, struct error *error);
void compiled_code_close(struct compiled_code *code);

/* Returns true if it was made from the module with this SHA-256. */
bool compiled_code_is_of(const struct compiled_code *code, const uint8_t hash[COMPILED_HASH_SIZE]);

/* Where the memory of the instance must begin (struct wasm_instance_options). */
uint8_t *compiled_code_memory(const struct compiled_code *code);

/*
 * As wasm_instance_start() and wasm_call(), for an instance of the module in a machine of its own.
 * False: it gave up. One call at a time in a process, and none from a host function.
 */
bool compiled_start(struct compiled_code *code, struct wasm_machine *machine,
                    struct wasm_instance *instance);
bool compiled_call(struct compiled_code *code, struct wasm_machine *machine,
                   struct wasm_instance *instance, uint32_t function, uint64_t *values);

/* ---- between the files of this directory ---- */

/* The compiler emits x86-64 only, and a metered worker would not count what it emits. */
#if defined(__x86_64__) && !defined(__GASPIPE_METER__)
#define COMPILED_IS_POSSIBLE
#endif

struct compiled_code {
    uint8_t *image; /* the file, executable */
    size_t size;
    const struct compiled_header *header; /* in it */
    const int32_t *entries;               /* in it, by function */
    struct compiled_context *context;     /* its memory is `base` */
    uint8_t *base;
};

/* Installs the handlers of the signals by which compiled code abandons a call. -1 with
 * ERROR_SYSTEM. */
int compiled_catch_faults(struct error *error);

#endif
