/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "worker/wasm/compile/compiler.h"

/* ---- operands ---- */

/* Only this many top operands may stay in locals or constants, so that a local.set searches no
 * further on a deep stack. */
enum { LAZY_DEPTH = 32 };

/* The size of a type, as NEAR counts it. */
static unsigned near_bytes_of_type(uint8_t type)
{
    return type == WASM_I32 || type == WASM_F32 ? 4 : 8;
}

struct wasm_control *wasm_top_control(struct wasm_compiler *compiler)
{
    return &compiler->controls[compiler->control_count - 1];
}

uint16_t wasm_own_slot(const struct wasm_compiler *compiler, uint32_t place)
{
    return (uint16_t)(compiler->local_count + place);
}

/* Copies an operand to its own slot, and notes its new place. */
static void settle_operand(struct wasm_compiler *compiler, uint32_t place)
{
    struct wasm_operand *operand = &compiler->operands[place];

    if (operand->place == WASM_PLACE_LOCAL) {
        compiler->lazy[operand->local]--;
        wasm_emit_copy(compiler, wasm_own_slot(compiler, place), (uint16_t)operand->local);
    } else if (operand->place == WASM_PLACE_CONSTANT) {
        wasm_emit_constant(compiler, wasm_own_slot(compiler, place), operand->bits);
    }
    operand->place = WASM_PLACE_SLOT;
}

void wasm_settle(struct wasm_compiler *compiler, uint32_t from)
{
    const uint32_t count = compiler->operand_count;

    if (count > LAZY_DEPTH && from < count - LAZY_DEPTH)
        from = count - LAZY_DEPTH;
    for (uint32_t place = from; place < count; place++)
        settle_operand(compiler, place);
}

void wasm_settle_local(struct wasm_compiler *compiler, uint32_t local)
{
    for (uint32_t place = compiler->operand_count; compiler->lazy[local] != 0; place--) {
        const struct wasm_operand *operand = &compiler->operands[place - 1];

        if (operand->place == WASM_PLACE_LOCAL && operand->local == local)
            settle_operand(compiler, place - 1);
    }
}

/* Unreachable code needs no stack. */
static void note_height(struct wasm_compiler *compiler)
{
    const struct wasm_control *control = wasm_top_control(compiler);

    if (control->is_unreachable || control->is_dead)
        return;
    if (compiler->operand_bytes > compiler->operand_bytes_most)
        compiler->operand_bytes_most = compiler->operand_bytes;
    if (compiler->operand_count > compiler->operand_most)
        compiler->operand_most = compiler->operand_count;
    if (compiler->local_count + (uint64_t)compiler->operand_most > UINT16_MAX)
        compiler->is_too_large = true;
}

static void operands_push(struct wasm_compiler *compiler, struct wasm_operand operand)
{
    if (!wasm_compile_reserve(compiler, &compiler->operands, compiler->operand_count,
                              &compiler->operand_capacity, sizeof *compiler->operands))
        return;
    if (operand.place == WASM_PLACE_LOCAL)
        compiler->lazy[operand.local]++;
    compiler->operands[compiler->operand_count++] = operand;
    if (compiler->operand_count > LAZY_DEPTH)
        settle_operand(compiler, compiler->operand_count - LAZY_DEPTH - 1);
    compiler->operand_bytes += near_bytes_of_type(operand.type);
    compiler->last_cell = WASM_NO_CELL;
    note_height(compiler);
}

void wasm_push(struct wasm_compiler *compiler, uint8_t type)
{
    operands_push(compiler, (struct wasm_operand){.type = type, .place = WASM_PLACE_SLOT});
}

/* Unreachable code emits nothing, so an operand must not lie in a local. */
void wasm_push_local(struct wasm_compiler *compiler, uint32_t local)
{
    struct wasm_operand operand = {.type = compiler->locals[local], .place = WASM_PLACE_SLOT};

    if (wasm_is_emitting(compiler)) {
        operand.place = WASM_PLACE_LOCAL;
        operand.local = local;
    }
    operands_push(compiler, operand);
}

void wasm_push_constant(struct wasm_compiler *compiler, uint8_t type, uint64_t bits)
{
    struct wasm_operand operand = {.type = type, .place = WASM_PLACE_SLOT};

    if (wasm_is_emitting(compiler)) {
        operand.place = WASM_PLACE_CONSTANT;
        operand.bits = bits;
    }
    operands_push(compiler, operand);
}

void wasm_push_all(struct wasm_compiler *compiler, struct wasm_bytes types)
{
    for (uint32_t i = 0; i < types.length; i++)
        wasm_push(compiler, types.data[i]);
}

/* Keeps the types for the message. */
static void fail_types(struct wasm_compiler *compiler, uint8_t expected, uint8_t found)
{
    if (compiler->reader.fault == NULL) {
        compiler->has_types = true;
        compiler->expected_type = expected;
        compiler->found_type = found;
    }
    wasm_compile_fail(compiler, "type mismatch");
}

struct wasm_operand wasm_pop(struct wasm_compiler *compiler, uint8_t type)
{
    const struct wasm_operand unknown = {.type = WASM_UNKNOWN, .place = WASM_PLACE_SLOT};
    struct wasm_operand operand;

    compiler->last_cell = WASM_NO_CELL;
    if (compiler->operand_count == wasm_top_control(compiler)->height) {
        if (!wasm_top_control(compiler)->is_unreachable)
            fail_types(compiler, type, WASM_UNKNOWN);
        return unknown;
    }
    operand = compiler->operands[--compiler->operand_count];
    compiler->operand_bytes -= near_bytes_of_type(operand.type);
    if (operand.place == WASM_PLACE_LOCAL)
        compiler->lazy[operand.local]--;
    if (operand.type != type && operand.type != WASM_UNKNOWN && type != WASM_UNKNOWN)
        fail_types(compiler, type, operand.type);
    return operand;
}

void wasm_pop_all(struct wasm_compiler *compiler, struct wasm_bytes types)
{
    for (uint32_t i = types.length; i > 0; i--)
        (void)wasm_pop(compiler, types.data[i - 1]);
}

void wasm_cut(struct wasm_compiler *compiler, uint32_t height)
{
    while (compiler->operand_count > height)
        (void)wasm_pop(compiler, WASM_UNKNOWN);
}

void wasm_check_all(struct wasm_compiler *compiler, struct wasm_bytes types, bool refine)
{
    const struct wasm_control *control = wasm_top_control(compiler);
    const uint32_t there = compiler->operand_count - control->height;

    if (there < types.length && (refine || !control->is_unreachable)) {
        /* In unreachable code missing operands are created. */
        wasm_pop_all(compiler, types);
        wasm_push_all(compiler, types);
        return;
    }
    for (uint32_t i = 0; i < types.length && i < there; i++) {
        struct wasm_operand *operand = &compiler->operands[compiler->operand_count - 1 - i];
        const uint8_t type = types.data[types.length - 1 - i];

        if (operand->type == WASM_UNKNOWN && refine) {
            compiler->operand_bytes -= near_bytes_of_type(WASM_UNKNOWN) - near_bytes_of_type(type);
            operand->type = type;
        } else if (operand->type != WASM_UNKNOWN && operand->type != type) {
            wasm_compile_fail(compiler, "type mismatch");
        }
    }
}

uint16_t wasm_slot_of(struct wasm_compiler *compiler, struct wasm_operand operand, uint32_t place)
{
    const uint16_t own = wasm_own_slot(compiler, place);

    if (operand.place == WASM_PLACE_LOCAL)
        return (uint16_t)operand.local;
    if (operand.place == WASM_PLACE_CONSTANT)
        wasm_emit_constant(compiler, own, operand.bits);
    return own;
}

/* ---- cells ---- */

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

bool wasm_compile_reserve(struct wasm_compiler *compiler, void *items, uint32_t count,
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

static struct wasm_cell *append_wasm_cell(struct wasm_compiler *compiler)
{
    static _Thread_local struct wasm_cell nowhere;

    if (!wasm_is_emitting(compiler) ||
        !wasm_compile_reserve(compiler, &compiler->cells, compiler->cell_count,
                              &compiler->cell_capacity, sizeof *compiler->cells))
        return &nowhere;
    compiler->last_cell = WASM_NO_CELL;
    return &compiler->cells[compiler->cell_count++];
}

struct wasm_cell *wasm_emit(struct wasm_compiler *compiler, enum wasm_operation operation)
{
    struct wasm_cell *cell = append_wasm_cell(compiler);

    *cell = (struct wasm_cell){.execute = compiler->handlers[operation]};
    return cell;
}

struct wasm_cell *wasm_emit_wide(struct wasm_compiler *compiler, uint64_t wide)
{
    struct wasm_cell *cell = append_wasm_cell(compiler);

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
        !wasm_compile_reserve(compiler, &compiler->traps, compiler->trap_count,
                              &compiler->trap_capacity, sizeof *compiler->traps))
        return;
    compiler->traps[compiler->trap_count++] = (struct wasm_trap_place){
        .cell = compiler->cell_count,
        .gas_cell = compiler->gas_cell,
        .spent = compiler->gas_spent,
    };
}
