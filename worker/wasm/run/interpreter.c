/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "worker/wasm/run/bulk.h"
#include "worker/wasm/run/last_block.h"
#include "worker/wasm/run/machine.h"
#include "worker/wasm/run/numeric.h"

/*
 * The interpreter: a place for each operation, and from each a jump to the next cell's.
 *
 * What all places use lies in local variables, which the compiler keeps in registers:
 *
 *   pc         the cell at hand          bytes, size   the memory
 *   slots      the frame at hand         left          operations that may still be charged
 *   code       the function at hand
 *
 * `left` is in machine->left too whenever somebody else may look; memory may have moved when
 * he is done.
 */
#define NEXT(count)                                                                                \
    do {                                                                                           \
        pc += (count);                                                                             \
        goto * pc->execute;                                                                        \
    } while (0)
#define TRAP(why)                                                                                  \
    do {                                                                                           \
        trap = (why);                                                                              \
        goto trapped;                                                                              \
    } while (0)
#define TRAP_UNLESS_NONE(why)                                                                      \
    do {                                                                                           \
        trap = (why);                                                                              \
        if (trap != WASM_TRAP_NONE)                                                                \
            goto trapped;                                                                          \
    } while (0)
#define LOAD_MEMORY()                                                                              \
    do {                                                                                           \
        bytes = instance->memory != NULL ? instance->memory->bytes : NULL;                         \
        size = instance->memory != NULL ? instance->memory->size : 0;                              \
    } while (0)

/* Charges `unit` operations for each of so many; the call ends when they cannot be paid. */
#define CHARGE_EACH(count)                                                                         \
    do {                                                                                           \
        left -= (int64_t)(count)*unit;                                                             \
        if (left < 0)                                                                              \
            TRAP(WASM_TRAP_GAS);                                                                   \
    } while (0)

/* Calls between instances: each takes a piece of the C stack. */
enum { MOST_NESTED = 200 };

static const void *const *handlers;

/* Runs one function of the instance's own. */
static enum wasm_trap interpret(struct wasm_machine *machine, struct wasm_instance *instance,
                                uint32_t function, uint64_t *slots);

const void *const *wasm_handlers(void)
{
    if (handlers == NULL)
        (void)interpret(NULL, NULL, 0, NULL);
    return handlers;
}

/* Each operation jumps to the next one, so all of them are one function.
 * NOLINTNEXTLINE(readability-function-size) */
static enum wasm_trap interpret(struct wasm_machine *machine, struct wasm_instance *instance,
                                uint32_t function, uint64_t *slots)
{
    static const void *const places[] = {
#include "worker/wasm/run/places.inc"
    };
    const struct wasm_cell *pc = NULL;
    const struct wasm_code *code = NULL;
    uint8_t *bytes;
    uint64_t size;
    int64_t left;
    int64_t unit;
    uint32_t first_frame;
    uint32_t imported;
    enum wasm_trap trap = WASM_TRAP_NONE;

    if (machine == NULL) {
        handlers = places;
        return WASM_TRAP_NONE;
    }
    left = machine->left;
    unit = instance->module->limits->linear_unit;
    first_frame = machine->frame_count;
    imported = instance->module->imported_functions;
    LOAD_MEMORY();
    goto enter;

#include "worker/wasm/run/do_calls.inc"
#include "worker/wasm/run/do_jumps.inc"
#include "worker/wasm/run/do_memory.inc"
#include "worker/wasm/run/do_numeric.inc"

op_NONE:
trapped:
    machine->left = left;
    return wasm_settle_trap(machine, code, pc, trap);
}

enum wasm_trap wasm_call_any(struct wasm_machine *machine, struct wasm_instance *instance,
                             uint32_t function, uint64_t *slots)
{
    const struct wasm_imported_function *imported;
    enum wasm_trap trap;

    if (machine->nested == MOST_NESTED)
        return WASM_TRAP_STACK;
    machine->nested++;
    if (function >= instance->module->imported_functions) {
        trap = interpret(machine, instance, function, slots);
    } else {
        imported = &instance->functions[function];
        if (imported->call != NULL)
            trap = imported->call(imported->context, machine, instance, slots);
        else
            trap = wasm_call_any(machine, imported->instance, imported->function, slots);
    }
    machine->nested--;
    return trap;
}
