/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "worker/wasm/compile/compiler.h"

bool wasm_compile_fail(struct wasm_compiler *compiler, const char *words)
{
    return wasm_reader_fail(&compiler->reader, words);
}

bool wasm_compile_stop(struct wasm_compiler *compiler, enum wasm_fault fault, const char *words)
{
    if (compiler->fault == WASM_FAULT_NONE && compiler->reader.fault == NULL)
        compiler->fault = fault;
    return wasm_compile_fail(compiler, words);
}

bool wasm_compile_room(struct wasm_compiler *compiler, void *items, uint32_t count,
                       uint32_t *capacity, size_t size)
{
    void **place = items;
    void *grown;

    if (count < *capacity)
        return true;
    grown = reallocarray(*place, *capacity != 0 ? (size_t)*capacity * 2 : 64, size);
    if (grown == NULL)
        return wasm_compile_stop(compiler, WASM_FAULT_NO_MEMORY, "out of memory for a function");
    *place = grown;
    *capacity = *capacity != 0 ? *capacity * 2 : 64;
    return true;
}

bool wasm_is_emitting(const struct wasm_compiler *compiler)
{
    const struct wasm_control *control = &compiler->controls[compiler->control_count - 1];

    return !compiler->is_too_large && compiler->reader.fault == NULL && !control->is_unreachable &&
           !control->is_dead;
}

static struct wasm_cell *append(struct wasm_compiler *compiler)
{
    static _Thread_local struct wasm_cell nowhere;

    if (!wasm_is_emitting(compiler) ||
        !wasm_compile_room(compiler, &compiler->cells, compiler->cell_count,
                           &compiler->cell_capacity, sizeof *compiler->cells))
        return &nowhere;
    compiler->last_cell = WASM_NO_CELL;
    return &compiler->cells[compiler->cell_count++];
}

struct wasm_cell *wasm_emit(struct wasm_compiler *compiler, enum wasm_operation operation)
{
    struct wasm_cell *cell = append(compiler);

    *cell = (struct wasm_cell){.execute = compiler->handlers[operation]};
    return cell;
}

struct wasm_cell *wasm_emit_wide(struct wasm_compiler *compiler, uint64_t wide)
{
    struct wasm_cell *cell = append(compiler);

    *cell = (struct wasm_cell){.wide = wide};
    return cell;
}

void wasm_emit_copy(struct wasm_compiler *compiler, uint16_t to, uint16_t from)
{
    struct wasm_cell *cell;

    if (to == from)
        return;
    cell = wasm_emit(compiler, WASM_OP_COPY);
    cell->d = to;
    cell->a = from;
}

void wasm_emit_constant(struct wasm_compiler *compiler, uint16_t to, uint64_t bits)
{
    struct wasm_cell *cell;

    if ((int64_t)bits == (int32_t)bits) {
        cell = wasm_emit(compiler, WASM_OP_CONSTANT);
        cell->dd = to;
        cell->k = (int32_t)bits;
        return;
    }
    wasm_emit(compiler, WASM_OP_CONSTANT_WIDE)->dd = to;
    wasm_emit_wide(compiler, bits);
}

void wasm_emitted_top(struct wasm_compiler *compiler, enum wasm_operation operation)
{
    if (!wasm_is_emitting(compiler))
        return;
    compiler->last_operation = operation;
    compiler->last_cell = compiler->cell_count - 1;
}

bool wasm_top_is_last(const struct wasm_compiler *compiler)
{
    return compiler->last_cell != WASM_NO_CELL && compiler->last_cell == compiler->cell_count - 1;
}

struct wasm_cell wasm_take_back(struct wasm_compiler *compiler)
{
    compiler->last_cell = WASM_NO_CELL;
    return compiler->cells[--compiler->cell_count];
}

/* ---- gas ---- */

void wasm_charge(struct wasm_compiler *compiler, uint32_t operations)
{
    if (wasm_is_emitting(compiler))
        compiler->gas_spent += operations;
}

void wasm_gas_begin(struct wasm_compiler *compiler)
{
    if (!wasm_is_emitting(compiler))
        return;
    compiler->gas_cell = compiler->cell_count;
    compiler->gas_spent = 0;
    compiler->first_trap = compiler->trap_count;
    wasm_emit(compiler, WASM_OP_GAS);
}

void wasm_gas_end(struct wasm_compiler *compiler)
{
    const uint32_t cell = compiler->gas_cell;

    if (cell == WASM_NO_CELL || compiler->reader.fault != NULL)
        return;
    compiler->gas_cell = WASM_NO_CELL;
    if (compiler->gas_spent == 0 && compiler->cell_count == cell + 1)
        compiler->cell_count--;
    else
        compiler->cells[cell].k = (int32_t)compiler->gas_spent;
    for (uint32_t i = compiler->first_trap; i < compiler->trap_count; i++)
        compiler->traps[i].end_cell = compiler->cell_count;
    compiler->last_cell = WASM_NO_CELL;
}

void wasm_mark_trap(struct wasm_compiler *compiler)
{
    if (!wasm_is_emitting(compiler) ||
        !wasm_compile_room(compiler, &compiler->traps, compiler->trap_count,
                           &compiler->trap_capacity, sizeof *compiler->traps))
        return;
    compiler->traps[compiler->trap_count++] = (struct wasm_trap_place){
        .cell = compiler->cell_count,
        .gas_cell = compiler->gas_cell,
        .spent = compiler->gas_spent,
    };
}
