/* SPDX-License-Identifier: Apache-2.0 */
/* Locals, globals, constants, and the instructions that only move operands. */
#include "worker/wasm/compile/compiler.h"
#include "worker/wasm/compile/opcodes.h"

/* ---- locals ---- */

static bool read_local(struct wasm_compiler *compiler, uint32_t *local)
{
    *local = wasm_read_u32(&compiler->reader);
    return *local < compiler->local_count || wasm_compile_fail(compiler, "unknown local");
}

/*
 * Puts the operand on top into a local and pops it. When the last instruction made it and
 * nobody looks at the local's old value any more, that instruction writes to the local.
 */
static void set_local(struct wasm_compiler *compiler, uint32_t local)
{
    const bool is_last = wasm_top_is_last(compiler);
    const struct wasm_operand operand = wasm_pop(compiler, compiler->locals[local]);
    const uint32_t place = compiler->operand_count;

    if (!wasm_is_emitting(compiler))
        return;
    if (is_last && compiler->lazy[local] == 0) {
        compiler->cells[compiler->cell_count - 1].d = (uint16_t)local;
        return;
    }
    if (operand.place == WASM_PLACE_LOCAL && operand.local == local)
        return;
    wasm_settle_local(compiler, local);
    if (operand.place == WASM_PLACE_CONSTANT)
        wasm_emit_constant(compiler, (uint16_t)local, operand.bits);
    else
        wasm_emit_copy(compiler, (uint16_t)local, wasm_slot_of(compiler, operand, place));
}

static void compile_local(struct wasm_compiler *compiler, uint8_t opcode)
{
    uint32_t local;

    wasm_charge(compiler, 1);
    if (!read_local(compiler, &local))
        return;
    if (opcode != WASM_LOCAL_GET)
        set_local(compiler, local);
    if (opcode != WASM_LOCAL_SET)
        wasm_push_local(compiler, local);
}

/* ---- globals ---- */

static void compile_global(struct wasm_compiler *compiler, uint8_t opcode)
{
    const struct wasm_module *module = compiler->module;
    const uint32_t index = wasm_read_u32(&compiler->reader);
    const bool is_imported = index < module->imported_globals;
    struct wasm_cell *cell;

    wasm_charge(compiler, 1);
    if (index >= module->global_count) {
        wasm_compile_fail(compiler, "unknown global");
    } else if (opcode == WASM_GLOBAL_GET) {
        cell = wasm_emit(compiler, is_imported ? WASM_OP_IMPORTED_GLOBAL_GET : WASM_OP_GLOBAL_GET);
        cell->dd = wasm_own_slot(compiler, compiler->operand_count);
        cell->k = (int32_t)index;
        wasm_push(compiler, module->globals[index].type);
        wasm_emitted_top(compiler, WASM_OP_GLOBAL_GET);
    } else if (!module->globals[index].is_mutable) {
        wasm_compile_fail(compiler, "global is immutable");
    } else {
        const struct wasm_operand operand = wasm_pop(compiler, module->globals[index].type);
        const uint16_t slot = wasm_slot_of(compiler, operand, compiler->operand_count);

        cell = wasm_emit(compiler, is_imported ? WASM_OP_IMPORTED_GLOBAL_SET : WASM_OP_GLOBAL_SET);
        cell->aa = slot;
        cell->k = (int32_t)index;
    }
}

/* ---- select ---- */

static void emit_select(struct wasm_compiler *compiler, uint8_t type,
                        const struct wasm_operand *operands)
{
    const uint32_t place = compiler->operand_count;
    uint16_t slots[3];
    struct wasm_cell *cell;

    for (unsigned i = 0; i < 3; i++)
        slots[i] = wasm_slot_of(compiler, operands[i], place + i);
    cell = wasm_emit(compiler, WASM_OP_SELECT);
    cell->d = wasm_own_slot(compiler, place);
    cell->a = slots[0];
    cell->b = slots[1];
    cell->c = slots[2];
    wasm_push(compiler, type);
    wasm_emitted_top(compiler, WASM_OP_SELECT);
}

static void compile_select(struct wasm_compiler *compiler)
{
    struct wasm_operand operands[3];

    wasm_charge(compiler, 1);
    operands[2] = wasm_pop(compiler, WASM_I32);
    operands[1] = wasm_pop(compiler, WASM_UNKNOWN);
    operands[0] = wasm_pop(compiler, operands[1].type);
    if (wasm_is_reference(operands[0].type) || wasm_is_reference(operands[1].type))
        wasm_compile_fail(compiler, "type mismatch");
    emit_select(compiler, operands[0].type != WASM_UNKNOWN ? operands[0].type : operands[1].type,
                operands);
}

static void compile_select_typed(struct wasm_compiler *compiler)
{
    const struct wasm_bytes types = wasm_read_bytes(&compiler->reader);
    struct wasm_operand operands[3];

    wasm_charge(compiler, 1);
    if (types.length != 1 || !wasm_is_type(types.data[0])) {
        wasm_compile_fail(compiler, "invalid result arity");
        return;
    }
    operands[2] = wasm_pop(compiler, WASM_I32);
    operands[1] = wasm_pop(compiler, types.data[0]);
    operands[0] = wasm_pop(compiler, types.data[0]);
    emit_select(compiler, types.data[0], operands);
}

/* ---- references ---- */

static void compile_ref_null(struct wasm_compiler *compiler)
{
    const uint8_t type = wasm_read_byte(&compiler->reader);

    if (!wasm_is_reference(type))
        wasm_compile_fail(compiler, "malformed reference type");
    wasm_push_constant(compiler, type, 0);
}

static void compile_ref_is_null(struct wasm_compiler *compiler)
{
    const struct wasm_operand operand = wasm_pop(compiler, WASM_UNKNOWN);
    const uint16_t slot = wasm_slot_of(compiler, operand, compiler->operand_count);
    struct wasm_cell *cell;

    if (operand.type != WASM_UNKNOWN && !wasm_is_reference(operand.type))
        wasm_compile_fail(compiler, "type mismatch");
    cell = wasm_emit(compiler, WASM_OP_I64_EQZ);
    cell->d = wasm_own_slot(compiler, compiler->operand_count);
    cell->a = slot;
    wasm_push(compiler, WASM_I32);
    wasm_emitted_top(compiler, WASM_OP_I64_EQZ);
}

static void compile_ref_func(struct wasm_compiler *compiler)
{
    const uint32_t index = wasm_read_u32(&compiler->reader);
    struct wasm_cell *cell;

    if (index >= compiler->module->function_count)
        wasm_compile_fail(compiler, "unknown function");
    else if (!compiler->module->functions[index].is_declared)
        wasm_compile_fail(compiler, "undeclared function reference");
    cell = wasm_emit(compiler, WASM_OP_REF_FUNC);
    cell->dd = wasm_own_slot(compiler, compiler->operand_count);
    cell->k = (int32_t)index;
    wasm_push(compiler, WASM_FUNCREF);
    wasm_emitted_top(compiler, WASM_OP_REF_FUNC);
}

static bool compile_reference(struct wasm_compiler *compiler, uint8_t opcode)
{
    if (opcode < WASM_REF_NULL || opcode > WASM_REF_FUNC)
        return false;
    if (compiler->module->limits->no_bulk_or_references)
        return wasm_compile_fail(compiler, "reference types are not allowed");
    wasm_charge(compiler, 1);
    if (opcode == WASM_REF_NULL)
        compile_ref_null(compiler);
    else if (opcode == WASM_REF_IS_NULL)
        compile_ref_is_null(compiler);
    else
        compile_ref_func(compiler);
    return true;
}

/* ---- constants ---- */

static bool compile_constant(struct wasm_compiler *compiler, uint8_t opcode)
{
    struct wasm_reader *reader = &compiler->reader;

    if (opcode < WASM_I32_CONST || opcode > WASM_F64_CONST)
        return false;
    wasm_charge(compiler, 1);
    if (opcode == WASM_I32_CONST)
        wasm_push_constant(compiler, WASM_I32, (uint32_t)wasm_read_s32(reader));
    else if (opcode == WASM_I64_CONST)
        wasm_push_constant(compiler, WASM_I64, (uint64_t)wasm_read_s64(reader));
    else if (opcode == WASM_F32_CONST)
        wasm_push_constant(compiler, WASM_F32, wasm_read_fixed(reader, 4));
    else
        wasm_push_constant(compiler, WASM_F64, wasm_read_fixed(reader, 8));
    return true;
}

bool wasm_compile_variable(struct wasm_compiler *compiler, uint8_t opcode)
{
    switch (opcode) {
    case WASM_LOCAL_GET:
    case WASM_LOCAL_SET:
    case WASM_LOCAL_TEE:
        compile_local(compiler, opcode);
        return true;
    case WASM_GLOBAL_GET:
    case WASM_GLOBAL_SET:
        compile_global(compiler, opcode);
        return true;
    case WASM_DROP:
        wasm_charge(compiler, 1);
        (void)wasm_pop(compiler, WASM_UNKNOWN);
        return true;
    case WASM_SELECT:
        compile_select(compiler);
        return true;
    case WASM_SELECT_TYPED:
        compile_select_typed(compiler);
        return true;
    default:
        return compile_constant(compiler, opcode) || compile_reference(compiler, opcode);
    }
}
