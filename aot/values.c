/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aot/emitter.h"
#include "base/log.h"
#include "worker/wasm/compiled/layout.h"

/* ---- memory ---- */

static void *or_exit(void *memory)
{
    if (memory != NULL)
        return memory;
    log_line("out of memory");
    exit(EXIT_FAILURE);
}

void *aot_take(size_t count, size_t size)
{
    return or_exit(calloc(count + 1, size));
}

void *aot_grow(void *items, uint32_t *capacity, uint32_t needed, size_t size)
{
    if (needed <= *capacity)
        return items;
    *capacity = needed < 64 ? 64 : 2 * needed;
    return or_exit(reallocarray(items, *capacity, size));
}

/* ---- constants and variables ---- */

LLVMTypeRef aot_type(const struct aot_emitter *emitter, uint8_t type)
{
    switch (type) {
    case WASM_I32:
        return emitter->i32;
    case WASM_F32:
        return emitter->f32;
    case WASM_F64:
        return emitter->f64;
    default: /* a reference has 64 bits, too */
        return emitter->i64;
    }
}

LLVMValueRef aot_i32(const struct aot_emitter *emitter, uint32_t value)
{
    return LLVMConstInt(emitter->i32, value, false);
}

LLVMValueRef aot_i64(const struct aot_emitter *emitter, uint64_t value)
{
    return LLVMConstInt(emitter->i64, value, false);
}

LLVMBasicBlockRef aot_new_block(const struct aot_emitter *emitter)
{
    return LLVMAppendBasicBlockInContext(emitter->context, emitter->function, "");
}

LLVMValueRef aot_variable(struct aot_emitter *emitter, LLVMTypeRef type)
{
    return LLVMBuildAlloca(emitter->entry_builder, type, "");
}

/* ---- the context ---- */

LLVMValueRef aot_at(struct aot_emitter *emitter, LLVMValueRef start, int64_t offset)
{
    LLVMValueRef distance = aot_i64(emitter, (uint64_t)offset);

    return offset == 0 ? start
                       : LLVMBuildGEP2(emitter->builder, emitter->i8, start, &distance, 1, "");
}

LLVMValueRef aot_field(struct aot_emitter *emitter, uint64_t offset)
{
    return aot_at(emitter, emitter->base, (int64_t)offset - COMPILED_CONTEXT_SIZE);
}

LLVMValueRef aot_tagged(const struct aot_emitter *emitter, LLVMValueRef access, LLVMValueRef tag)
{
    LLVMSetMetadata(access, emitter->tbaa_kind, tag);
    return access;
}

LLVMValueRef aot_load_field(struct aot_emitter *emitter, LLVMTypeRef type, uint64_t offset,
                            LLVMValueRef tag)
{
    LLVMValueRef place = aot_field(emitter, offset);

    return aot_tagged(emitter, LLVMBuildLoad2(emitter->builder, type, place, ""), tag);
}

void aot_store_field(struct aot_emitter *emitter, LLVMValueRef value, uint64_t offset,
                     LLVMValueRef tag)
{
    LLVMValueRef place = aot_field(emitter, offset);

    (void)aot_tagged(emitter, LLVMBuildStore(emitter->builder, value, place), tag);
}

/* ---- traps ---- */

void aot_trap_if(struct aot_emitter *emitter, LLVMValueRef condition)
{
    LLVMBasicBlockRef here = LLVMGetInsertBlock(emitter->builder), next = aot_new_block(emitter);
    LLVMValueRef branch;

    if (emitter->trap == NULL) {
        emitter->trap = aot_new_block(emitter);
        LLVMPositionBuilderAtEnd(emitter->builder, emitter->trap);
        (void)aot_intrinsic(emitter, "llvm.trap", NULL, 0, NULL, 0);
        LLVMBuildUnreachable(emitter->builder);
        LLVMPositionBuilderAtEnd(emitter->builder, here);
    }
    branch = LLVMBuildCondBr(emitter->builder, condition, emitter->trap, next);
    LLVMSetMetadata(branch, emitter->weight_kind, emitter->unlikely);
    LLVMPositionBuilderAtEnd(emitter->builder, next);
}

/* ---- operands ---- */

static void push_operand(struct aot_emitter *emitter, LLVMValueRef value, bool may_be_nan)
{
    emitter->operands = aot_grow(emitter->operands, &emitter->operand_capacity, emitter->height + 1,
                                 sizeof *emitter->operands);
    emitter->operands[emitter->height++] =
        (struct aot_operand){.value = value, .may_be_nan = may_be_nan};
}

void aot_push(struct aot_emitter *emitter, LLVMValueRef value)
{
    push_operand(emitter, value, false);
}

void aot_push_condition(struct aot_emitter *emitter, LLVMValueRef condition)
{
    aot_push(emitter, LLVMBuildZExt(emitter->builder, condition, emitter->i32, ""));
}

/* Abandoning too often only costs time, so what comes out of a local may have been computed. So may
 * a constant, which LLVM computes from others. */
void aot_push_computed(struct aot_emitter *emitter, LLVMValueRef value)
{
    LLVMTypeRef type = LLVMTypeOf(value);

    push_operand(emitter, value, type == emitter->f32 || type == emitter->f64);
}

LLVMValueRef aot_checked(struct aot_emitter *emitter, const struct aot_operand *operand)
{
    LLVMValueRef value = operand->value;

    if (operand->may_be_nan)
        aot_trap_if(emitter, LLVMBuildFCmp(emitter->builder, LLVMRealUNO, value, value, ""));
    return value;
}

LLVMValueRef aot_pop(struct aot_emitter *emitter)
{
    return aot_checked(emitter, &emitter->operands[--emitter->height]);
}

LLVMValueRef aot_pop_any(struct aot_emitter *emitter)
{
    return emitter->operands[--emitter->height].value;
}

LLVMValueRef aot_pop_condition(struct aot_emitter *emitter)
{
    LLVMValueRef value = aot_pop(emitter);

    if (LLVMIsAZExtInst(value) && LLVMTypeOf(LLVMGetOperand(value, 0)) == emitter->i1)
        return LLVMGetOperand(value, 0);
    return LLVMBuildICmp(emitter->builder, LLVMIntNE, value, aot_i32(emitter, 0), "");
}

/* ---- gas ---- */

LLVMValueRef aot_operations_left(struct aot_emitter *emitter)
{
    return LLVMBuildLoad2(emitter->builder, emitter->i64, emitter->left, "");
}

void aot_set_operations_left(struct aot_emitter *emitter, LLVMValueRef left)
{
    LLVMBuildStore(emitter->builder, left, emitter->left);
}

void aot_charge(struct aot_emitter *emitter, LLVMValueRef operations)
{
    LLVMValueRef left = aot_operations_left(emitter);

    aot_set_operations_left(emitter, LLVMBuildSub(emitter->builder, left, operations, ""));
}

void aot_settle(struct aot_emitter *emitter)
{
    if (emitter->pending != 0)
        aot_charge(emitter, aot_i64(emitter, emitter->pending));
    emitter->pending = 0;
}

LLVMValueRef aot_intrinsic(struct aot_emitter *emitter, const char *name, LLVMTypeRef *types,
                           unsigned type_count, LLVMValueRef *arguments, unsigned count)
{
    const unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
    LLVMValueRef function = LLVMGetIntrinsicDeclaration(emitter->llvm, id, types, type_count);
    LLVMTypeRef type = LLVMIntrinsicGetType(emitter->context, id, types, type_count);

    return LLVMBuildCall2(emitter->builder, type, function, arguments, count, "");
}
