/* SPDX-License-Identifier: Apache-2.0 */
/* The memory, globals, tables, and references. */
#include <stddef.h>

#include "aot/emitter.h"
#include "worker/wasm/compiled/layout.h"

/* ---- loads and stores ---- */

static LLVMValueRef address(struct aot_emitter *emitter, LLVMValueRef index, uint32_t offset)
{
    LLVMValueRef wide = LLVMBuildZExt(emitter->builder, index, emitter->i64, "");
    LLVMValueRef place = LLVMBuildGEP2(emitter->builder, emitter->i8, emitter->base, &wide, 1, "");

    return aot_at(emitter, place, offset);
}

/*
 * LLVM removes a load that nothing uses, and with it the fault of an address outside the memory.
 * Empty assembly that uses the value holds it, and costs nothing.
 */
static void keep_load(struct aot_emitter *emitter, LLVMValueRef value)
{
    enum { INACCESSIBLE_MEMORY_ONLY = 3 << 2 };
    LLVMTypeRef type = LLVMTypeOf(value);
    const bool is_float = type == emitter->f32 || type == emitter->f64;
    LLVMTypeRef function = LLVMFunctionType(emitter->nothing, &type, 1, false);
    LLVMValueRef assembly = LLVMGetInlineAsm(function, "", 0, is_float ? "x" : "r", 1, true, false,
                                             LLVMInlineAsmDialectATT, false);
    LLVMValueRef call = LLVMBuildCall2(emitter->builder, function, assembly, &value, 1, "");
    const unsigned kinds[] = {emitter->memory_effects, emitter->nounwind, emitter->will_return};

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        LLVMAddCallSiteAttribute(call, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                                 LLVMCreateEnumAttribute(emitter->context, kinds[i],
                                                         i == 0 ? INACCESSIBLE_MEMORY_ONLY : 0));
}

static LLVMTypeRef integer_of(const struct aot_emitter *emitter, unsigned bytes)
{
    return bytes == 1 ? emitter->i8 : bytes == 2 ? emitter->i16 : emitter->i32;
}

static void emit_load(struct aot_emitter *emitter, uint8_t opcode, uint32_t offset)
{
    static const struct {
        uint8_t type, bytes, is_signed; /* bytes: fewer than the type has, or 0 */
    } loads[] = {
        {WASM_I32, 0, 0}, {WASM_I64, 0, 0}, {WASM_F32, 0, 0}, {WASM_F64, 0, 0}, {WASM_I32, 1, 1},
        {WASM_I32, 1, 0}, {WASM_I32, 2, 1}, {WASM_I32, 2, 0}, {WASM_I64, 1, 1}, {WASM_I64, 1, 0},
        {WASM_I64, 2, 1}, {WASM_I64, 2, 0}, {WASM_I64, 4, 1}, {WASM_I64, 4, 0},
    };
    const unsigned index = opcode - WASM_FIRST_LOAD, bytes = loads[index].bytes;
    LLVMTypeRef type = aot_type(emitter, loads[index].type);
    LLVMValueRef place = address(emitter, aot_pop(emitter), offset), value;

    value =
        LLVMBuildLoad2(emitter->builder, bytes != 0 ? integer_of(emitter, bytes) : type, place, "");
    LLVMSetAlignment(value, 1);
    (void)aot_tagged(emitter, value, emitter->memory_tag);
    if (bytes != 0)
        value = loads[index].is_signed ? LLVMBuildSExt(emitter->builder, value, type, "")
                                       : LLVMBuildZExt(emitter->builder, value, type, "");
    keep_load(emitter, value);
    aot_push(emitter, value);
}

static void emit_store(struct aot_emitter *emitter, uint8_t opcode, uint32_t offset)
{
    static const uint8_t sizes[] = {0, 0, 0, 0, 1, 2, 1, 2, 4}; /* 0: the type's */
    const unsigned bytes = sizes[opcode - WASM_FIRST_STORE];
    LLVMValueRef value = aot_pop(emitter), place = address(emitter, aot_pop(emitter), offset);

    if (bytes != 0)
        value = LLVMBuildTrunc(emitter->builder, value, integer_of(emitter, bytes), "");
    value = LLVMBuildStore(emitter->builder, value, place);
    LLVMSetAlignment(value, 1);
    (void)aot_tagged(emitter, value, emitter->memory_tag);
}

/* ---- what the worker carries out ---- */

static LLVMTypeRef type_of_operate(struct aot_emitter *emitter)
{
    LLVMTypeRef types[] = {emitter->pointer, emitter->i32, emitter->i64,
                           emitter->i64,     emitter->i64, emitter->i64};

    return LLVMFunctionType(emitter->i64, types, 6, false);
}

static LLVMValueRef operate(struct aot_emitter *emitter, uint32_t operation,
                            const LLVMValueRef operands[3], uint64_t items)
{
    LLVMValueRef arguments[] = {
        emitter->base, aot_i32(emitter, operation), operands[0], operands[1],
        operands[2],   aot_i64(emitter, items),
    };
    LLVMValueRef function =
        aot_load_field(emitter, emitter->pointer, offsetof(struct compiled_context, operate),
                       emitter->context_tag);

    return LLVMBuildCall2(emitter->builder, type_of_operate(emitter), function, arguments, 6, "");
}

/* Pops `count` operands, and pushes the result as `result` says: an integer's size in bits. */
static void emit_operation(struct aot_emitter *emitter, uint32_t operation, unsigned count,
                           uint64_t items, unsigned result)
{
    LLVMValueRef operands[3], value;

    emitter->pending++;
    for (unsigned i = 0; i < 3; i++)
        operands[i] = aot_i64(emitter, 0);
    for (unsigned i = count; i > 0; i--)
        operands[i - 1] =
            LLVMBuildZExtOrBitCast(emitter->builder, aot_pop(emitter), emitter->i64, "");
    value = operate(emitter, operation, operands, items);
    if (result == 32)
        aot_push(emitter, LLVMBuildTrunc(emitter->builder, value, emitter->i32, ""));
    else if (result == 64)
        aot_push(emitter, value);
}

/* Operations on many bytes or elements cost so much each and for each item. */
static void emit_bulk(struct aot_emitter *emitter, uint32_t prefixed, uint64_t items)
{
    LLVMValueRef count = emitter->operands[emitter->height - 1].value;
    LLVMValueRef base =
        aot_load_field(emitter, emitter->i64, offsetof(struct compiled_context, linear_base),
                       emitter->context_tag);
    LLVMValueRef unit =
        aot_load_field(emitter, emitter->i64, offsetof(struct compiled_context, linear_unit),
                       emitter->context_tag);

    count = LLVMBuildZExt(emitter->builder, count, emitter->i64, "");
    aot_charge(emitter, base);
    aot_charge(emitter, LLVMBuildMul(emitter->builder, count, unit, ""));
    emit_operation(emitter, COMPILED_PREFIXED | prefixed, 3, items, 0);
    emitter->pending--; /* it is charged already */
}

static void emit_size(struct aot_emitter *emitter)
{
    LLVMValueRef pages = aot_load_field(
        emitter, emitter->i64, offsetof(struct compiled_context, pages), emitter->context_tag);

    emitter->pending++;
    aot_push(emitter, LLVMBuildTrunc(emitter->builder, pages, emitter->i32, ""));
}

/* ---- globals ---- */

static void emit_global(struct aot_emitter *emitter, bool is_set, uint32_t global)
{
    const uint64_t offset = COMPILED_GLOBALS_AT + sizeof(uint64_t) * global;
    LLVMTypeRef type = aot_type(emitter, emitter->module->globals[global].type);

    emitter->pending++;
    if (is_set)
        aot_store_field(emitter, aot_pop(emitter), offset, emitter->global_tags[global]);
    else
        aot_push(emitter, aot_load_field(emitter, type, offset, emitter->global_tags[global]));
}

/* ---- one instruction ---- */

bool aot_emit_memory(struct aot_emitter *emitter, const struct aot_instruction *instruction)
{
    const uint8_t opcode = instruction->opcode;

    if (opcode >= WASM_FIRST_LOAD && opcode <= WASM_LAST_STORE) {
        emitter->pending++;
        if (opcode < WASM_FIRST_STORE)
            emit_load(emitter, opcode, instruction->second);
        else
            emit_store(emitter, opcode, instruction->second);
        return true;
    }
    switch (opcode) {
    case WASM_MEMORY_SIZE:
        emit_size(emitter);
        return true;
    case WASM_MEMORY_GROW:
        emit_operation(emitter, opcode, 1, 0, 32);
        return true;
    case WASM_GLOBAL_GET:
    case WASM_GLOBAL_SET:
        emit_global(emitter, opcode == WASM_GLOBAL_SET, instruction->first);
        return true;
    default:
        return false;
    }
}

static bool emit_prefixed(struct aot_emitter *emitter, const struct aot_instruction *instruction)
{
    const uint32_t prefixed = instruction->prefixed;
    const uint64_t items = instruction->first | (uint64_t)instruction->second << 32;

    switch (prefixed) {
    case WASM_MEMORY_COPY:
    case WASM_MEMORY_FILL:
        emit_bulk(emitter, prefixed, 0);
        return true;
    case WASM_MEMORY_INIT:
    case WASM_TABLE_INIT:
    case WASM_TABLE_COPY:
    case WASM_TABLE_FILL:
        emit_bulk(emitter, prefixed, items);
        return true;
    case WASM_DATA_DROP:
    case WASM_ELEM_DROP:
        emit_operation(emitter, COMPILED_PREFIXED | prefixed, 0, items, 0);
        return true;
    case WASM_TABLE_GROW:
        emit_operation(emitter, COMPILED_PREFIXED | prefixed, 2, items, 32);
        return true;
    case WASM_TABLE_SIZE:
        emit_operation(emitter, COMPILED_PREFIXED | prefixed, 0, items, 32);
        return true;
    default:
        aot_emit_saturating(emitter, prefixed);
        return true;
    }
}

/* Instances are numbered from 1 in references, and a contract has one. */
static uint64_t reference_to(uint32_t function)
{
    return UINT64_C(1) << 32 | function;
}

bool aot_emit_table(struct aot_emitter *emitter, const struct aot_instruction *instruction)
{
    switch (instruction->opcode) {
    case WASM_PREFIX:
        return emit_prefixed(emitter, instruction);
    case WASM_TABLE_GET:
        emit_operation(emitter, instruction->opcode, 1, instruction->first, 64);
        return true;
    case WASM_TABLE_SET:
        emit_operation(emitter, instruction->opcode, 2, instruction->first, 0);
        return true;
    case WASM_REF_NULL:
        emitter->pending++;
        aot_push(emitter, aot_i64(emitter, 0));
        return true;
    case WASM_REF_IS_NULL:
        emitter->pending++;
        aot_push_condition(emitter, LLVMBuildICmp(emitter->builder, LLVMIntEQ, aot_pop(emitter),
                                                  aot_i64(emitter, 0), ""));
        return true;
    case WASM_REF_FUNC:
        emitter->pending++;
        aot_push(emitter, aot_i64(emitter, reference_to(instruction->first)));
        return true;
    default:
        return false;
    }
}
