/* SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "worker/wasm/run/machine.h"

/* ---- instructions on many bytes or elements ---- */

/* The limit on tables, for which NEAR has none once they grow. */
enum { MOST_ELEMENTS = 10 * 1000 * 1000 };

enum wasm_trap wasm_memory_copy(struct wasm_memory *memory, uint32_t to, uint32_t from,
                                uint32_t count)
{
    if (!wasm_memory_has(memory, to, count) || !wasm_memory_has(memory, from, count))
        return WASM_TRAP_MEMORY;
    memmove(memory->bytes + to, memory->bytes + from, count);
    return WASM_TRAP_NONE;
}

enum wasm_trap wasm_memory_fill(struct wasm_memory *memory, uint32_t to, uint32_t byte,
                                uint32_t count)
{
    if (!wasm_memory_has(memory, to, count))
        return WASM_TRAP_MEMORY;
    /* memset() of 0 bytes may store under an empty mask, which is slow in an untouched page. */
    if (count != 0)
        memset(memory->bytes + to, (int)(byte & 0xff), count);
    return WASM_TRAP_NONE;
}

enum wasm_trap wasm_memory_init(struct wasm_instance *instance, uint32_t segment, uint32_t to,
                                uint32_t from, uint32_t count)
{
    const struct wasm_bytes bytes = instance->module->data[segment].bytes;
    const uint32_t length = instance->dropped_data[segment] ? 0 : bytes.length;

    if (!wasm_memory_has(instance->memory, to, count) || from > length || count > length - from)
        return WASM_TRAP_MEMORY;
    if (count != 0)
        memcpy(instance->memory->bytes + to, bytes.data + from, count);
    return WASM_TRAP_NONE;
}

static bool table_has(const struct wasm_table *table, uint32_t from, uint32_t count)
{
    return from <= table->count && count <= table->count - from;
}

uint32_t wasm_table_grow(struct wasm_table *table, uint64_t value, uint32_t count)
{
    const uint32_t before = table->count;
    uint64_t *grown;

    if (count > table->maximum - before || before + (uint64_t)count > MOST_ELEMENTS)
        return UINT32_MAX;
    if (count == 0)
        return before;
    grown = reallocarray(table->elements, (size_t)before + count, sizeof *grown);
    if (grown == NULL)
        return UINT32_MAX;
    table->elements = grown;
    table->count += count;
    for (uint32_t i = before; i < table->count; i++)
        grown[i] = value;
    return before;
}

enum wasm_trap wasm_table_fill(struct wasm_table *table, uint32_t to, uint64_t value,
                               uint32_t count)
{
    if (!table_has(table, to, count))
        return WASM_TRAP_TABLE;
    for (uint32_t i = 0; i < count; i++)
        table->elements[to + i] = value;
    return WASM_TRAP_NONE;
}

enum wasm_trap wasm_table_copy(struct wasm_table *to_table, struct wasm_table *from_table,
                               uint32_t to, uint32_t from, uint32_t count)
{
    if (!table_has(to_table, to, count) || !table_has(from_table, from, count))
        return WASM_TRAP_TABLE;
    if (count != 0)
        memmove(to_table->elements + to, from_table->elements + from,
                count * sizeof *to_table->elements);
    return WASM_TRAP_NONE;
}

enum wasm_trap wasm_table_init(struct wasm_instance *instance, uint32_t table, uint32_t segment,
                               uint32_t to, uint32_t from, uint32_t count)
{
    const struct wasm_element_segment *elements = &instance->module->elements[segment];
    const uint32_t length = instance->dropped_elements[segment] ? 0 : elements->count;

    if (!table_has(instance->tables[table], to, count) || from > length || count > length - from)
        return WASM_TRAP_TABLE;
    for (uint32_t i = 0; i < count; i++)
        instance->tables[table]->elements[to + i] =
            wasm_constant_value(instance, &elements->items[from + i]);
    return WASM_TRAP_NONE;
}

uint64_t wasm_reference(const struct wasm_instance *instance, uint32_t function)
{
    return ((uint64_t)instance->number + 1) << 32 | function;
}

uint64_t wasm_constant_value(const struct wasm_instance *instance,
                             const struct wasm_constant *constant)
{
    switch (constant->kind) {
    case WASM_CONSTANT_GLOBAL:
        return *instance->imported_globals[constant->value];
    case WASM_CONSTANT_FUNCTION:
        return wasm_reference(instance, (uint32_t)constant->value);
    case WASM_CONSTANT_VALUE:
        break;
    }
    return constant->value;
}

/* ---- the last block before gas runs out ---- */

/*
 * Gas is charged one block in advance. These functions correct the result to what charging
 * each instruction would give:
 *
 *     charged:   GAS of the block
 *                |--- run ---| trap |--- not run: give back ---|
 *
 *     gas ends:  left = 5, the block costs 8
 *                |--- 5 run ---| out_of_gas (in a copy of the block)
 *
 * A block that cannot be paid in full still runs up to its last affordable instruction,
 * because an instruction before that may trap, and then the trap is the call's result.
 */

/* Returns the number of the first trap place at or after that cell. */
static uint32_t find_place(const struct wasm_code *code, uint32_t cell)
{
    uint32_t low = 0;
    uint32_t high = code->trap_count;

    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;

        if (code->traps[middle].cell < cell)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Returns true if the cell lies in the copied block; finds its cell in the code. */
static bool in_last_block(const struct wasm_machine *machine, const struct wasm_cell *pc)
{
    return machine->last_block != NULL && pc >= machine->last_block &&
           pc < machine->last_block + machine->last_block_capacity;
}

/* Corrects a trap at that cell: returns the charge for the block's later instructions to
 * machine->left. Returns WASM_TRAP_GAS instead of `trap` if gas had run out before. */
static enum wasm_trap wasm_settle_trap(struct wasm_machine *machine, const struct wasm_code *code,
                                       const struct wasm_cell *pc, enum wasm_trap trap)
{
    const bool is_copy = in_last_block(machine, pc);
    const uint32_t cell = is_copy ? machine->last_block_cell + (uint32_t)(pc - machine->last_block)
                                  : (uint32_t)(pc - code->cells);
    const uint32_t number = find_place(code, cell);
    const struct wasm_trap_place *place = &code->traps[number];

    /* An instruction that ends its block has no place, because no later one needs a correction. */
    if (number == code->trap_count || place->cell != cell)
        return trap;
    machine->left += code->cells[place->gas_cell].k - (int64_t)place->spent;
    return machine->left < 0 ? WASM_TRAP_GAS : trap;
}

static bool copy_block(struct wasm_machine *machine, const struct wasm_code *code,
                       const struct wasm_trap_place *place, const void *out_of_gas)
{
    const uint32_t first = place->gas_cell + 1;
    const uint32_t count = place->end_cell - first;
    struct wasm_cell *cells;

    if (count + 1 > machine->last_block_capacity) {
        cells = reallocarray(machine->last_block, count + 1, sizeof *cells);
        if (cells == NULL)
            return false;
        machine->last_block = cells;
        machine->last_block_capacity = count + 1;
    }
    memcpy(machine->last_block, code->cells + first, count * sizeof *machine->last_block);
    machine->last_block[count] = (struct wasm_cell){.execute = out_of_gas};
    machine->last_block_cell = first;
    return true;
}

/*
 * Continues at the GAS cell of a block that costs more than is left. Copies the affordable
 * part of the block, ended by `out_of_gas`, and returns the copy. NULL if no instruction
 * that can trap is affordable: gas has run out.
 */
static const struct wasm_cell *wasm_last_block(struct wasm_machine *machine,
                                               const struct wasm_code *code,
                                               const struct wasm_cell *gas, const void *out_of_gas)
{
    const uint32_t cell = (uint32_t)(gas - code->cells);
    const uint32_t number = find_place(code, cell);
    const struct wasm_trap_place *place = &code->traps[number];

    /* The block's first trap place is the first that can be reached. */
    if (number == code->trap_count || place->gas_cell != cell ||
        (int64_t)place->spent > machine->left + gas->k ||
        !copy_block(machine, code, place, out_of_gas))
        return NULL;
    return machine->last_block;
}

/* ---- the interpreter ---- */

/* Floating-point numbers are kept as bits. A computed NaN becomes the canonical one, so that
 * results do not depend on the machine; moving bits keeps them. */
static inline float wasm_to_f32(uint64_t bits)
{
    const uint32_t low = (uint32_t)bits;
    float value;

    memcpy(&value, &low, sizeof value);
    return value;
}

static inline double wasm_to_f64(uint64_t bits)
{
    double value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline uint64_t wasm_from_f32(float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof bits);
    return value == value ? bits : 0x7fc00000u;
}

static inline uint64_t wasm_from_f64(double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof bits);
    return value == value ? bits : 0x7ff8000000000000u;
}

/* -0 is below +0; NaN if either is NaN. */
static inline double wasm_minimum(double x, double y)
{
    if (x != x || y != y)
        return x + y;
    if (x == y)
        return __builtin_signbit(x) ? x : y;
    return x < y ? x : y;
}

static inline double wasm_maximum(double x, double y)
{
    if (x != x || y != y)
        return x + y;
    if (x == y)
        return __builtin_signbit(x) ? y : x;
    return x > y ? x : y;
}

/* Truncates to the nearest number that fits; 0 for NaN. */
static inline uint64_t wasm_saturate_i32_s(double x)
{
    if (x != x)
        return 0;
    if (x <= -2147483648.0)
        return 0x80000000u;
    return x >= 2147483647.0 ? 0x7fffffffu : (uint32_t)(int32_t)x;
}

static inline uint64_t wasm_saturate_i32_u(double x)
{
    if (!(x > 0))
        return 0;
    return x >= 4294967295.0 ? 0xffffffffu : (uint32_t)x;
}

static inline uint64_t wasm_saturate_i64_s(double x)
{
    if (x != x)
        return 0;
    if (x <= -9223372036854775808.0)
        return 0x8000000000000000u;
    return x >= 9223372036854775808.0 ? 0x7fffffffffffffffu : (uint64_t)(int64_t)x;
}

static inline uint64_t wasm_saturate_i64_u(double x)
{
    if (!(x > 0))
        return 0;
    return x >= 18446744073709551616.0 ? UINT64_MAX : (uint64_t)x;
}

/*
 * The interpreter jumps from each operation to the next cell's. All operations share these
 * local variables, which the compiler keeps in registers:
 *
 *     pc            the current cell
 *     bytes, size   the memory
 *     slots         the current frame
 *     left          operations that may still be charged
 *     code          the current function
 *
 * Before other code runs, `left` is copied to machine->left; afterwards `bytes` and `size`
 * are read again, because the memory may have moved.
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

/* Charges `unit` operations per item; ends the call if they cannot be paid. */
#define CHARGE_EACH(count)                                                                         \
    do {                                                                                           \
        left -= (int64_t)(count)*unit;                                                             \
        if (left < 0)                                                                              \
            TRAP(WASM_TRAP_GAS);                                                                   \
    } while (0)

/* Limits calls between instances, each of which uses the C stack. */
enum { MOST_NESTED = 200 };

static const void *const *handlers;

/* Runs one of the instance's own functions. */
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
