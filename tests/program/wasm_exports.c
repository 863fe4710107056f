/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls the functions that modules export without parameters, one after the other, and prints
 * what they give as wabt's `wasm-interp --run-all-exports` does, traps by the part of the words
 * that both have.
 * usage: wasm_exports [-c] [-g OPERATIONS] FILE.wasm ...
 * With -c, what machine code in FILE.wasm.so answers is its, and stderr says how much that was;
 * what the function left of the operations, the memory and the globals is printed with -g. Before
 * the functions of each of several files, its name is printed. Exit status: 0 all were called, 1 a
 * module was refused, 2 usage, or a file cannot be read.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/io.h"
#include "worker/wasm/compile/code.h"
#include "worker/wasm/compiled/compiled.h"
#include "worker/wasm/run/instance.h"

static struct options {
    bool is_compiled;
    bool has_limit;
    int64_t limit; /* of operations */
} chosen = {.limit = INT64_MAX / 2};

static uint64_t answered, abandoned;

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

static uint64_t mix(uint64_t sum, const void *bytes, uint64_t length)
{
    const uint8_t *byte = bytes;

    for (uint64_t i = 0; i < length; i++)
        sum = (sum ^ byte[i]) * UINT64_C(1099511628211);
    return sum;
}

/* Prints the rest of the state after the call: operations, memory, globals. */
static void print_rest(const struct wasm_machine *machine, const struct wasm_instance *instance,
                       enum wasm_trap trap)
{
    uint64_t sum = mix(0, instance->globals, instance->module->global_count * sizeof(uint64_t));

    if (instance->memory != NULL)
        sum = mix(sum, instance->memory->bytes, instance->memory->size);
    printf(" [%" PRId64 " %" PRIx64 "]", trap == WASM_TRAP_GAS ? -1 : machine->left, sum);
}

/* A new instance, so that both tiers begin with the same. */
static enum wasm_trap begin_again(struct wasm_machine *machine, struct wasm_instance *instance)
{
    wasm_machine_begin(machine, chosen.limit);
    return wasm_instance_reset(instance);
}

/* Machine code's answer, or the interpreter's where it abandons the call. */
static enum wasm_trap call_either(struct wasm_machine *machine, struct wasm_instance *instance,
                                  struct compiled_code *code, uint32_t function, uint64_t *values)
{
    enum wasm_trap trap = begin_again(machine, instance);

    if (trap == WASM_TRAP_NONE && code != NULL) {
        if (compiled_start(code, machine, instance) &&
            compiled_call(code, machine, instance, function, values)) {
            answered++;
            return WASM_TRAP_NONE;
        }
        abandoned++;
        trap = begin_again(machine, instance);
    }
    if (trap == WASM_TRAP_NONE)
        trap = wasm_instance_start(machine, instance);
    return trap == WASM_TRAP_NONE ? wasm_call(machine, instance, function, values) : trap;
}

static void call_export(struct wasm_machine *machine, struct wasm_instance *instance,
                        struct compiled_code *code, const struct wasm_export *export)
{
    const struct wasm_function_type *type = wasm_type_of_function(instance->module, export->index);
    uint64_t values[MOST_VALUES] = {0};
    enum wasm_trap trap;

    if (type->parameters.length > 0 || type->results.length > MOST_VALUES)
        return;
    if (chosen.is_compiled || chosen.has_limit) {
        trap = call_either(machine, instance, code, export->index, values);
    } else {
        wasm_machine_begin(machine, chosen.limit);
        trap = wasm_call(machine, instance, export->index, values);
    }
    printf("%.*s() =>", (int)export->name.length, (const char *)export->name.data);
    if (trap != WASM_TRAP_NONE)
        printf(" error: %s", words_of(trap));
    else
        print_results(type, values);
    if (chosen.has_limit)
        print_rest(machine, instance, trap);
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

static int run_module(struct wasm_module *module, struct wasm_code *codes,
                      struct compiled_code *code, struct error *error)
{
    const struct wasm_instance_options options = {
        .module = module,
        .codes = codes,
        .resolve = no_import,
        .memory_place = code != NULL ? compiled_code_memory(code) : NULL,
    };
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
                call_export(&machine, instance, code, &module->exports[i]);
    }
    wasm_instance_close(instance);
    wasm_machine_close(&machine);
    return result;
}

/* Without a file, because the compiler refused the module, everything is interpreted. */
static struct compiled_code *load_code(const char *path)
{
    struct buf place = {0};
    struct error ignored;
    struct compiled_code *code;

    buf_printf(&place, "%s.so", path);
    code = compiled_code_open(buf_string(&place), &ignored);
    buf_free(&place);
    return code;
}

static int run_bytes(const char *path, const struct buf *bytes, struct error *error)
{
    enum wasm_fault fault;
    struct wasm_module *module = wasm_module_decode((const uint8_t *)bytes->data, bytes->length,
                                                    &wasm_no_limits, &fault, error);
    struct wasm_code *codes = NULL;
    int result = -1;

    if (module != NULL)
        codes = wasm_compile(module, wasm_handlers(), &fault, error);
    if (codes != NULL) {
        struct compiled_code *code = chosen.is_compiled ? load_code(path) : NULL;

        result = run_module(module, codes, code, error);
        compiled_code_close(code);
        wasm_code_free_all(codes, module->function_count);
    }
    wasm_module_free(module);
    return result;
}

static void take_options(int *argc, char ***argv)
{
    for (; *argc > 1 && (*argv)[1][0] == '-'; (*argc)--, (*argv)++) {
        if (strcmp((*argv)[1], "-c") == 0) {
            chosen.is_compiled = true;
        } else if (strcmp((*argv)[1], "-g") == 0 && *argc > 2) {
            chosen.has_limit = true;
            chosen.limit = strtoll((*argv)[2], NULL, 10);
            (*argc)--;
            (*argv)++;
        }
    }
}

int main(int argc, char **argv)
{
    int status = 0;

    take_options(&argc, &argv);
    if (argc < 2) {
        fputs("usage: wasm_exports [-c] [-g OPERATIONS] FILE.wasm ...\n", stderr);
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
        if (run_bytes(argv[i], &bytes, &error) != 0) {
            printf("%s\n", error.text);
            status = 1;
        }
        buf_free(&bytes);
    }
    if (chosen.is_compiled)
        fprintf(stderr, "%" PRIu64 " calls compiled, %" PRIu64 " abandoned\n", answered, abandoned);
    return status;
}
