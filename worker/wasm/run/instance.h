/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_WORKER_WASM_RUN_INSTANCE_H
#define GASPIPE_WORKER_WASM_RUN_INSTANCE_H

#include "worker/wasm/run/machine.h"

/* What is given for an import; of the members the one that its kind names. */
struct wasm_extern {
    enum wasm_kind kind;
    struct wasm_imported_function function;
    const struct wasm_function_type *type; /* of a function of the host's */
    struct wasm_table *table;
    struct wasm_memory *memory;
    uint64_t *global;
    uint8_t global_type;
    bool global_is_mutable;
};

/* Fills in *given for an import; -1 with *error where there is nothing of that name. */
typedef int wasm_resolver(void *context, const struct wasm_module *module,
                          const struct wasm_import *import, struct wasm_extern *given,
                          struct error *error);

struct wasm_instance_options {
    const struct wasm_module *module; /* borrowed until the instance is closed */
    const struct wasm_code *codes;    /* likewise */
    wasm_resolver *resolve;
    void *context;
    uint32_t memory_initial; /* pages; 0: as the module says it. Else whatever it says, and.. */
    uint32_t memory_maximum; /* .. there is a memory whether it wants one or not */
};

/*
 * Makes an instance that belongs to the machine, and links it. Nothing of it is run and no
 * segment copied before wasm_instance_start(). NULL with *error (ERROR_INPUT: an import is not
 * to be had).
 */
struct wasm_instance *wasm_instance_open(struct wasm_machine *machine,
                                         const struct wasm_instance_options *options,
                                         struct error *error);
void wasm_instance_close(struct wasm_instance *instance);

/*
 * Puts globals, own tables and own memory back to what they were at first: without taking
 * memory, unless a table has grown, so that what follows costs the same each time.
 */
enum wasm_trap wasm_instance_reset(struct wasm_instance *instance);

/* Copies the active segments and runs the start function. */
enum wasm_trap wasm_instance_start(struct wasm_machine *machine, struct wasm_instance *instance);

/* What the instance exports under that name; false when nothing. */
bool wasm_instance_export(struct wasm_instance *instance, const char *name, size_t length,
                          struct wasm_extern *given);

#endif
