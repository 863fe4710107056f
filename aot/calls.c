/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>
#include <stdlib.h>

#include "aot/emitter.h"
#include "worker/wasm/compiled/layout.h"
#include "worker/wasm/run/machine.h"

/* ---- types ---- */

static LLVMTypeRef result_type(struct aot_emitter *emitter, const struct wasm_function_type *type)
{
    const uint32_t count = type->results.length + AOT_HIDDEN_RESULTS;
    LLVMTypeRef *items = aot_take(count, sizeof(LLVMTypeRef)), result;

    items[0] = emitter->i64;
    for (uint32_t i = 0; i < type->results.length; i++)
        items[AOT_HIDDEN_RESULTS + i] = aot_type(emitter, type->results.data[i]);
    result = count == 1 ? items[0] : LLVMStructTypeInContext(emitter->context, items, count, false);
    free(items);
    return result;
}

LLVMTypeRef aot_function_type(struct aot_emitter *emitter, const struct wasm_function_type *type)
{
    const uint32_t count = type->parameters.length + AOT_HIDDEN_PARAMETERS;
    LLVMTypeRef *items = aot_take(count, sizeof(LLVMTypeRef)), result;

    items[0] = emitter->pointer;
    items[1] = items[2] = emitter->i64;
    for (uint32_t i = 0; i < type->parameters.length; i++)
        items[AOT_HIDDEN_PARAMETERS + i] = aot_type(emitter, type->parameters.data[i]);
    result = LLVMFunctionType(result_type(emitter, type), items, count, false);
    free(items);
    return result;
}

LLVMValueRef aot_result(struct aot_emitter *emitter, LLVMValueRef call, uint32_t count,
                        uint32_t index)
{
    return count == 0 ? call : LLVMBuildExtractValue(emitter->builder, call, index, "");
}

/* An indirect call has nothing else that says which register the base is in. */
void aot_mark_call(const struct aot_emitter *emitter, LLVMValueRef call)
{
    LLVMSetInstructionCallConv(call, LLVMFastCallConv);
    LLVMAddCallSiteAttribute(call, 1,
                             LLVMCreateEnumAttribute(emitter->context, emitter->base_register, 0));
}

/* ---- calls ---- */

static void call_function(struct aot_emitter *emitter, uint32_t type_number, LLVMValueRef callee)
{
    const struct wasm_function_type *type = &emitter->module->types[type_number];
    const uint32_t results = type->results.length;
    const uint64_t frame = emitter->codes[emitter->index].stack_bytes;
    LLVMValueRef call;

    emitter->has_calls = true;
    for (uint32_t i = type->parameters.length; i > 0; i--)
        emitter->values[AOT_HIDDEN_PARAMETERS + i - 1] = aot_pop(emitter);
    aot_settle(emitter);
    emitter->values[0] = emitter->base;
    emitter->values[1] =
        LLVMBuildSub(emitter->builder, emitter->stack_left, aot_i64(emitter, frame), "");
    emitter->values[2] = aot_operations_left(emitter);
    call = LLVMBuildCall2(emitter->builder, emitter->types[type_number], callee, emitter->values,
                          AOT_HIDDEN_PARAMETERS + type->parameters.length, "");
    aot_mark_call(emitter, call);
    aot_set_operations_left(emitter, aot_result(emitter, call, results, 0));
    for (uint32_t i = 0; i < results; i++)
        aot_push(emitter, aot_result(emitter, call, results, AOT_HIDDEN_RESULTS + i));
}

static LLVMValueRef load_in_table(struct aot_emitter *emitter, LLVMTypeRef type, LLVMValueRef table,
                                  uint64_t offset)
{
    return aot_tagged(
        emitter,
        LLVMBuildLoad2(emitter->builder, type, aot_at(emitter, table, (int64_t)offset), ""),
        emitter->table_tag);
}

/* The reference at an index of a table; abandons the call if the index is not valid. */
static LLVMValueRef element(struct aot_emitter *emitter, uint32_t table, LLVMValueRef index)
{
    LLVMBuilderRef builder = emitter->builder;
    LLVMValueRef tables = aot_load_field(
        emitter, emitter->pointer, offsetof(struct compiled_context, tables), emitter->context_tag);
    LLVMValueRef entry = aot_at(emitter, tables, (int64_t)(sizeof(struct wasm_table) * table));
    LLVMValueRef count =
        load_in_table(emitter, emitter->i32, entry, offsetof(struct wasm_table, count));
    LLVMValueRef elements, reference, wide;

    aot_trap_if(emitter, LLVMBuildICmp(builder, LLVMIntUGE, index, count, ""));
    elements =
        load_in_table(emitter, emitter->pointer, entry, offsetof(struct wasm_table, elements));
    wide = LLVMBuildZExt(builder, index, emitter->i64, "");
    reference = LLVMBuildLoad2(builder, emitter->i64,
                               LLVMBuildGEP2(builder, emitter->i64, elements, &wide, 1, ""), "");
    (void)aot_tagged(emitter, reference, emitter->table_tag);
    aot_trap_if(emitter, LLVMBuildICmp(builder, LLVMIntEQ, reference, aot_i64(emitter, 0), ""));
    return reference;
}

/* aot/module.c lays out the array: the distance of the function's code, and its type. */
static void call_indirectly(struct aot_emitter *emitter, uint32_t type, uint32_t table)
{
    LLVMBuilderRef builder = emitter->builder;
    LLVMValueRef functions = LLVMGetNamedGlobal(emitter->llvm, "functions");
    LLVMValueRef reference = element(emitter, table, aot_pop(emitter)), number, entry, of_type,
                 distance;

    number = LLVMBuildAnd(builder, reference, aot_i64(emitter, UINT32_MAX), "");
    entry = LLVMBuildGEP2(builder, emitter->i64, functions, &number, 1, "");
    of_type = LLVMBuildLoad2(builder, emitter->i32, aot_at(emitter, entry, 4), "");
    aot_trap_if(emitter, LLVMBuildICmp(builder, LLVMIntNE, of_type,
                                       aot_i32(emitter, emitter->module->types[type].same_as), ""));
    distance =
        LLVMBuildSExt(builder, LLVMBuildLoad2(builder, emitter->i32, entry, ""), emitter->i64, "");
    call_function(emitter, type, LLVMBuildGEP2(builder, emitter->i8, functions, &distance, 1, ""));
}

void aot_emit_return(struct aot_emitter *emitter)
{
    const uint32_t results = emitter->type->results.length;

    for (uint32_t i = 0; i < results; i++)
        emitter->values[AOT_HIDDEN_RESULTS + i] =
            aot_checked(emitter, &emitter->operands[emitter->height - results + i]);
    aot_settle(emitter);
    emitter->values[0] = aot_operations_left(emitter);
    if (results == 0)
        LLVMBuildRet(emitter->builder, emitter->values[0]);
    else
        LLVMBuildAggregateRet(emitter->builder, emitter->values, results + AOT_HIDDEN_RESULTS);
}

void aot_emit_trap(struct aot_emitter *emitter)
{
    (void)aot_intrinsic(emitter, "llvm.trap", NULL, 0, NULL, 0);
    LLVMBuildUnreachable(emitter->builder);
}

bool aot_emit_call(struct aot_emitter *emitter, const struct aot_instruction *instruction)
{
    const uint32_t function = instruction->first;

    if (instruction->opcode != WASM_CALL && instruction->opcode != WASM_CALL_INDIRECT)
        return false;
    emitter->pending++;
    if (instruction->opcode == WASM_CALL)
        call_function(emitter, emitter->module->functions[function].type,
                      emitter->functions[function]);
    else
        call_indirectly(emitter, instruction->first, instruction->second);
    return true;
}
