/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/wasm/run/machine.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* The least that a value and a frame count in stack_bytes. */
enum { VALUE_BYTES = 4, FRAME_BYTES = 64 };

const char *wasm_trap_words(enum wasm_trap trap)
{
    static const char *const words[] = {
        [WASM_TRAP_NONE] = "no trap",
        [WASM_TRAP_UNREACHABLE] = "unreachable",
        [WASM_TRAP_MEMORY] = "out of bounds memory access",
        [WASM_TRAP_TABLE] = "out of bounds table access",
        [WASM_TRAP_DIVIDE_BY_ZERO] = "integer divide by zero",
        [WASM_TRAP_OVERFLOW] = "integer overflow",
        [WASM_TRAP_CONVERSION] = "invalid conversion to integer",
        [WASM_TRAP_UNDEFINED] = "undefined element",
        [WASM_TRAP_UNINITIALIZED] = "uninitialized element",
        [WASM_TRAP_SIGNATURE] = "indirect call type mismatch",
        [WASM_TRAP_STACK] = "call stack exhausted",
        [WASM_TRAP_GAS] = "out of gas",
        [WASM_TRAP_HOST] = "ended by the host",
        [WASM_TRAP_NO_MEMORY] = "out of memory",
    };

    return words[trap];
}

int wasm_machine_open(struct wasm_machine *machine, uint64_t stack_bytes, struct error *error)
{
    *machine = (struct wasm_machine){
        .stack_bytes = stack_bytes,
        .value_count = stack_bytes / VALUE_BYTES + 1,
        .frame_capacity = (uint32_t)(stack_bytes / FRAME_BYTES) + 1,
    };
    machine->values = calloc(machine->value_count, sizeof *machine->values);
    machine->frames = calloc(machine->frame_capacity, sizeof *machine->frames);
    if (machine->values == NULL || machine->frames == NULL) {
        wasm_machine_close(machine);
        return error_memory(error, "the stack of WebAssembly");
    }
    wasm_machine_begin(machine, INT64_MAX);
    return 0;
}

void wasm_machine_close(struct wasm_machine *machine)
{
    free(machine->values);
    free(machine->frames);
    free(machine->instances);
    free(machine->last_block);
    *machine = (struct wasm_machine){0};
}

void wasm_machine_begin(struct wasm_machine *machine, int64_t left)
{
    machine->left = left;
    machine->stack_left = machine->stack_bytes;
    machine->frame_count = 0;
    machine->nested = 0;
    machine->next_values = machine->values;
}

enum wasm_trap wasm_call(struct wasm_machine *machine, struct wasm_instance *instance,
                         uint32_t function, uint64_t *values)
{
    const struct wasm_function_type *type = wasm_type_of_function(instance->module, function);
    const uint64_t most = type->parameters.length > type->results.length ? type->parameters.length
                                                                         : type->results.length;
    uint64_t *slots = machine->next_values;
    enum wasm_trap trap;

    if (most > machine->value_count - (uint64_t)(slots - machine->values))
        return WASM_TRAP_STACK;
    if (type->parameters.length != 0)
        memcpy(slots, values, type->parameters.length * sizeof *slots);
    trap = wasm_call_any(machine, instance, function, slots);
    if (trap == WASM_TRAP_NONE && type->results.length != 0)
        memcpy(values, slots, type->results.length * sizeof *slots);
    return trap;
}
