/* SPDX-License-Identifier: Apache-2.0 */
/* Calls. Arguments go to their own slots, which are the first slots of what is called. */
#include "worker/wasm/compile/compiler.h"
#include "worker/wasm/compile/opcodes.h"

static void settle_arguments(struct wasm_compiler *compiler, uint32_t count)
{
    const uint32_t there = compiler->operand_count;

    wasm_settle(compiler, there > count ? there - count : 0);
}

static void compile_direct(struct wasm_compiler *compiler)
{
    const uint32_t index = wasm_read_u32(&compiler->reader);
    const struct wasm_function_type *type;
    struct wasm_cell *cell;

    wasm_charge(compiler, 1);
    if (index >= compiler->module->function_count) {
        wasm_compile_fail(compiler, "unknown function");
        return;
    }
    type = wasm_type_of_function(compiler->module, index);
    settle_arguments(compiler, type->parameters.length);
    wasm_pop_all(compiler, type->parameters);
    wasm_gas_end(compiler);
    cell = wasm_emit(compiler, index < compiler->module->imported_functions ? WASM_OP_CALL_IMPORT
                                                                            : WASM_OP_CALL);
    cell->aa = wasm_own_slot(compiler, compiler->operand_count);
    cell->k = (int32_t)index;
    wasm_push_all(compiler, type->results);
    wasm_gas_begin(compiler);
}

static bool read_indirect(struct wasm_compiler *compiler, uint32_t *type, uint32_t *table)
{
    const struct wasm_module *module = compiler->module;

    *type = wasm_read_u32(&compiler->reader);
    *table = wasm_read_u32(&compiler->reader);
    if (*type >= module->type_count)
        return wasm_compile_fail(compiler, "unknown type");
    if (*table >= module->table_count)
        return wasm_compile_fail(compiler, "unknown table");
    if (module->tables[*table].type != WASM_FUNCREF)
        return wasm_compile_fail(compiler, "type mismatch");
    return compiler->reader.fault == NULL;
}

static void compile_indirect(struct wasm_compiler *compiler)
{
    const struct wasm_function_type *type;
    struct wasm_operand index;
    struct wasm_cell *cell;
    uint32_t type_index;
    uint32_t table;
    uint16_t slot;

    wasm_charge(compiler, 1);
    if (!read_indirect(compiler, &type_index, &table))
        return;
    type = &compiler->module->types[type_index];
    index = wasm_pop(compiler, WASM_I32);
    slot = wasm_slot_of(compiler, index, compiler->operand_count);
    settle_arguments(compiler, type->parameters.length);
    wasm_pop_all(compiler, type->parameters);
    wasm_gas_end(compiler);
    cell = wasm_emit(compiler, WASM_OP_CALL_INDIRECT);
    cell->dd = slot;
    cell->aa = wasm_own_slot(compiler, compiler->operand_count);
    cell->k = (int32_t)type_index;
    wasm_emit_wide(compiler, table);
    wasm_push_all(compiler, type->results);
    wasm_gas_begin(compiler);
}

bool wasm_compile_call(struct wasm_compiler *compiler, uint8_t opcode)
{
    if (opcode == WASM_CALL)
        compile_direct(compiler);
    else if (opcode == WASM_CALL_INDIRECT)
        compile_indirect(compiler);
    else
        return false;
    return true;
}
