/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls the functions that modules export without parameters, one after the other, and prints
 * what they give as wabt's `wasm-interp --run-all-exports` does, traps by the part of the words
 * that both have.
 * usage: wasm_exports FILE.wasm ...
 * Before the functions of each of several files, its name is printed.
 * Exit status: 0 all were called, 1 a module was refused, 2 usage, or a file cannot be read.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/io.h"
#include "worker/wasm/compile/code.h"
#include "worker/wasm/run/instance.h"

enum { FILE_LIMIT = 16 * 1024 * 1024, STACK_BYTES = 1024 * 1024, MOST_VALUES = 64 };

static const char *words_of(enum wasm_trap trap)
{
    return trap == WASM_TRAP_UNREACHABLE ? "unreachable executed" : wasm_trap_words(trap);
}

static void print_results(const struct wasm_function_type *type, const uint64_t *values)
{
    for (uint32_t i = 0; i < type->results.length; i++) {
        const bool is_short = type->results.data[i] == WASM_I32;

        printf("%s%s:%" PRIu64, i == 0 ? " " : ", ", is_short ? "i32" : "i64",
               is_short ? (uint32_t)values[i] : values[i]);
    }
}

static void call_export(struct wasm_machine *machine, struct wasm_instance *instance,
                        const struct wasm_export *export)
{
    const struct wasm_function_type *type = wasm_type_of_function(instance->module, export->index);
    uint64_t values[MOST_VALUES] = {0};
    enum wasm_trap trap;

    if (type->parameters.length > 0 || type->results.length > MOST_VALUES)
        return;
    wasm_machine_begin(machine, INT64_MAX / 2);
    trap = wasm_call(machine, instance, export->index, values);
    printf("%.*s() =>", (int)export->name.length, (const char *)export->name.data);
    if (trap != WASM_TRAP_NONE)
        printf(" error: %s", words_of(trap));
    else
        print_results(type, values);
    putchar('\n');
}

static int no_import(void *context, const struct wasm_module *module,
                     const struct wasm_import *import, struct wasm_extern *given,
                     struct error *error)
{
    (void)context;
    (void)module;
    (void)import;
    (void)given;
    return error_set(error, ERROR_INPUT, "nothing can be imported");
}

static int run_module(struct wasm_module *module, struct wasm_code *codes, struct error *error)
{
    const struct wasm_instance_options options = {
        .module = module, .codes = codes, .resolve = no_import};
    struct wasm_instance *instance = NULL;
    struct wasm_machine machine = {0};
    int result = wasm_machine_open(&machine, STACK_BYTES, error);

    if (result == 0 && (instance = wasm_instance_open(&machine, &options, error)) == NULL)
        result = -1;
    if (result == 0) {
        const enum wasm_trap trap = wasm_instance_reset(instance) == WASM_TRAP_NONE
                                        ? wasm_instance_start(&machine, instance)
                                        : WASM_TRAP_NO_MEMORY;

        if (trap != WASM_TRAP_NONE)
            printf("error initializing module: %s\n", words_of(trap));
        for (uint32_t i = 0; trap == WASM_TRAP_NONE && i < module->export_count; i++)
            if (module->exports[i].kind == WASM_FUNCTION)
                call_export(&machine, instance, &module->exports[i]);
    }
    wasm_instance_close(instance);
    wasm_machine_close(&machine);
    return result;
}

static int run_bytes(const struct buf *bytes, struct error *error)
{
    enum wasm_fault fault;
    struct wasm_module *module = wasm_module_decode((const uint8_t *)bytes->data, bytes->length,
                                                    &wasm_no_limits, &fault, error);
    struct wasm_code *codes = NULL;
    int result = -1;

    if (module != NULL)
        codes = wasm_compile(module, wasm_handlers(), &fault, error);
    if (codes != NULL) {
        result = run_module(module, codes, error);
        wasm_code_free_all(codes, module->function_count);
    }
    wasm_module_free(module);
    return result;
}

int main(int argc, char **argv)
{
    int status = 0;

    if (argc < 2) {
        fputs("usage: wasm_exports FILE.wasm ...\n", stderr);
        return 2;
    }
    for (int i = 1; i < argc; i++) {
        struct buf bytes = {0};
        struct error error;

        if (io_read_file(argv[i], FILE_LIMIT, &bytes, &error) != 0) {
            fprintf(stderr, "wasm_exports: %s\n", error.text);
            return 2;
        }
        if (argc > 2)
            printf("%s\n", argv[i]);
        if (run_bytes(&bytes, &error) != 0) {
            printf("%s\n", error.text);
            status = 1;
        }
        buf_free(&bytes);
    }
    return status;
}
