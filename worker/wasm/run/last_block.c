/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/wasm/run/last_block.h"

#include <stdlib.h>
#include <string.h>

/* The number of the first place at that cell or behind it. */
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

/* Whether the cell lies in the copied block; where that is in the code then. */
static bool in_last_block(const struct wasm_machine *machine, const struct wasm_cell *pc)
{
    return machine->last_block != NULL && pc >= machine->last_block &&
           pc < machine->last_block + machine->last_block_capacity;
}

enum wasm_trap wasm_settle_trap(struct wasm_machine *machine, const struct wasm_code *code,
                                const struct wasm_cell *pc, enum wasm_trap trap)
{
    const bool is_copy = in_last_block(machine, pc);
    const uint32_t cell = is_copy ? machine->last_block_cell + (uint32_t)(pc - machine->last_block)
                                  : (uint32_t)(pc - code->cells);
    const uint32_t number = find_place(code, cell);
    const struct wasm_trap_place *place = &code->traps[number];

    /* What ends its block and can trap has no place: there is nothing behind it. */
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

const struct wasm_cell *wasm_last_block(struct wasm_machine *machine, const struct wasm_code *code,
                                        const struct wasm_cell *gas, const void *out_of_gas)
{
    const uint32_t cell = (uint32_t)(gas - code->cells);
    const uint32_t number = find_place(code, cell);
    const struct wasm_trap_place *place = &code->traps[number];

    /* The first place of the block is the first that can be reached. */
    if (number == code->trap_count || place->gas_cell != cell ||
        (int64_t)place->spent > machine->left + gas->k ||
        !copy_block(machine, code, place, out_of_gas))
        return NULL;
    return machine->last_block;
}
