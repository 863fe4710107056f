/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_WORKER_WASM_RUN_INSTANCE_H
#define GASPIPE_WORKER_WASM_RUN_INSTANCE_H

#include "worker/wasm/run/machine.h"

/* The value of an import; `kind` selects the member. */
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

/* Fills in *given for an import; -1 with *error if the name is unknown. */
typedef int wasm_resolver(void *context, const struct wasm_module *module,
                          const struct wasm_import *import, struct wasm_extern *given,
                          struct error *error);

struct wasm_instance_options {
    const struct wasm_module *module; /* borrowed until the instance is closed */
    const struct wasm_code *codes;    /* likewise */
    wasm_resolver *resolve;
    void *context;
    uint32_t memory_initial; /* pages; 0: the module's own number */
    uint32_t memory_maximum; /* if `memory_initial` is set, a memory exists even if the module
                                has none */
    uint8_t *memory_place;   /* see wasm_memory_open_at(); NULL: anywhere */
};

/* Creates and links an instance of the machine. wasm_instance_start() copies segments and runs
 * code, not this. NULL with *error (ERROR_INPUT: an import is missing). */
struct wasm_instance *wasm_instance_open(struct wasm_machine *machine,
                                         const struct wasm_instance_options *options,
                                         struct error *error);
void wasm_instance_close(struct wasm_instance *instance);

/* Resets globals, own tables and own memory. Allocates only if a table had grown, so that the
 * next call costs the same each time. */
enum wasm_trap wasm_instance_reset(struct wasm_instance *instance);

/* Copies the active segments. */
enum wasm_trap wasm_instance_copy_segments(struct wasm_instance *instance);

/* Copies them and runs the start function. */
enum wasm_trap wasm_instance_start(struct wasm_machine *machine, struct wasm_instance *instance);

/* Returns the export of that name; false if absent. */
bool wasm_instance_export(struct wasm_instance *instance, const char *name, size_t length,
                          struct wasm_extern *given);

#endif
