/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "aot/emitter.h"
#include "worker/wasm/compiled/layout.h"

/* ---- instructions and their immediate operands ---- */

static void read_block_type(struct aot_emitter *emitter, struct aot_instruction *instruction)
{
    struct wasm_reader *reader = &emitter->reader;
    const struct wasm_function_type *type;

    if (*reader->at == WASM_EMPTY_BLOCK) {
        reader->at++;
    } else if (wasm_is_type(*reader->at)) {
        instruction->results = (struct wasm_bytes){reader->at++, 1};
    } else {
        type = &emitter->module->types[wasm_read_s33(reader)];
        instruction->parameters = type->parameters;
        instruction->results = type->results;
    }
}

static void read_depths(struct aot_emitter *emitter, struct aot_instruction *instruction)
{
    const uint32_t count = wasm_read_count(&emitter->reader);

    emitter->depths =
        aot_grow(emitter->depths, &emitter->depth_capacity, count + 1, sizeof *emitter->depths);
    for (uint32_t i = 0; i <= count; i++)
        emitter->depths[i] = wasm_read_u32(&emitter->reader);
    instruction->first = count;
    instruction->depths = emitter->depths;
}

static void read_prefixed(struct wasm_reader *reader, struct aot_instruction *instruction)
{
    instruction->prefixed = wasm_read_u32(reader);
    if (instruction->prefixed <= WASM_LAST_SATURATING)
        return;
    instruction->first = wasm_read_u32(reader);
    switch (instruction->prefixed) {
    case WASM_MEMORY_INIT:
    case WASM_MEMORY_COPY:
    case WASM_TABLE_INIT:
    case WASM_TABLE_COPY:
        instruction->second = wasm_read_u32(reader);
        return;
    default:
        return;
    }
}

static void read_typed_select(struct wasm_reader *reader)
{
    const uint32_t count = wasm_read_u32(reader);

    for (uint32_t i = 0; i < count; i++)
        (void)wasm_read_byte(reader);
}

static void read_constant(struct wasm_reader *reader, struct aot_instruction *instruction)
{
    if (instruction->opcode == WASM_I32_CONST)
        instruction->constant = (uint32_t)wasm_read_s32(reader);
    else if (instruction->opcode == WASM_I64_CONST)
        instruction->constant = (uint64_t)wasm_read_s64(reader);
    else
        instruction->constant =
            wasm_read_fixed(reader, instruction->opcode == WASM_F32_CONST ? 4 : 8);
}

/* Nothing can be malformed: wasm_compile() has validated the module. */
static void read_instruction(struct aot_emitter *emitter, struct aot_instruction *instruction)
{
    struct wasm_reader *reader = &emitter->reader;

    *instruction = (struct aot_instruction){.opcode = wasm_read_byte(reader)};
    if (instruction->opcode >= WASM_FIRST_LOAD && instruction->opcode <= WASM_LAST_STORE) {
        instruction->first = wasm_read_u32(reader);
        instruction->second = wasm_read_u32(reader);
        return;
    }
    switch (instruction->opcode) {
    case WASM_BLOCK:
    case WASM_LOOP:
    case WASM_IF:
        read_block_type(emitter, instruction);
        return;
    case WASM_BR_TABLE:
        read_depths(emitter, instruction);
        return;
    case WASM_SELECT_TYPED:
        read_typed_select(reader);
        return;
    case WASM_CALL_INDIRECT:
        instruction->first = wasm_read_u32(reader);
        instruction->second = wasm_read_u32(reader);
        return;
    case WASM_BR:
    case WASM_BR_IF:
    case WASM_CALL:
    case WASM_LOCAL_GET:
    case WASM_LOCAL_SET:
    case WASM_LOCAL_TEE:
    case WASM_GLOBAL_GET:
    case WASM_GLOBAL_SET:
    case WASM_TABLE_GET:
    case WASM_TABLE_SET:
    case WASM_REF_FUNC:
        instruction->first = wasm_read_u32(reader);
        return;
    case WASM_MEMORY_SIZE:
    case WASM_MEMORY_GROW:
    case WASM_REF_NULL:
        (void)wasm_read_byte(reader);
        return;
    case WASM_I32_CONST:
    case WASM_I64_CONST:
    case WASM_F32_CONST:
    case WASM_F64_CONST:
        read_constant(reader, instruction);
        return;
    case WASM_PREFIX:
        read_prefixed(reader, instruction);
        return;
    default:
        return;
    }
}

/* ---- locals, constants, and what only moves operands ---- */

static void emit_local(struct aot_emitter *emitter, const struct aot_instruction *instruction)
{
    const uint32_t index = instruction->first;
    LLVMTypeRef type = aot_type(emitter, emitter->local_types[index]);
    LLVMValueRef value;

    if (instruction->opcode == WASM_LOCAL_GET) {
        aot_push_computed(emitter,
                          LLVMBuildLoad2(emitter->builder, type, emitter->locals[index], ""));
        return;
    }
    value = aot_pop_any(emitter);
    LLVMBuildStore(emitter->builder, value, emitter->locals[index]);
    if (instruction->opcode == WASM_LOCAL_TEE)
        aot_push_computed(emitter, value);
}

static void emit_constant(struct aot_emitter *emitter, const struct aot_instruction *instruction)
{
    const bool is_long =
        instruction->opcode == WASM_I64_CONST || instruction->opcode == WASM_F64_CONST;
    LLVMValueRef value = is_long ? aot_i64(emitter, instruction->constant)
                                 : aot_i32(emitter, (uint32_t)instruction->constant);

    if (instruction->opcode == WASM_F32_CONST || instruction->opcode == WASM_F64_CONST)
        value = LLVMConstBitCast(value, is_long ? emitter->f64 : emitter->f32);
    aot_push(emitter, value);
}

static void emit_select(struct aot_emitter *emitter)
{
    LLVMValueRef condition = aot_pop_condition(emitter), otherwise = aot_pop_any(emitter),
                 value = aot_pop_any(emitter);

    aot_push_computed(emitter, LLVMBuildSelect(emitter->builder, condition, value, otherwise, ""));
}

static void emit_parametric(struct aot_emitter *emitter, const struct aot_instruction *instruction)
{
    emitter->pending++;
    switch (instruction->opcode) {
    case WASM_DROP:
        (void)aot_pop_any(emitter);
        return;
    case WASM_SELECT:
    case WASM_SELECT_TYPED:
        emit_select(emitter);
        return;
    case WASM_LOCAL_GET:
    case WASM_LOCAL_SET:
    case WASM_LOCAL_TEE:
        emit_local(emitter, instruction);
        return;
    case WASM_I32_CONST:
    case WASM_I64_CONST:
    case WASM_F32_CONST:
    case WASM_F64_CONST:
        emit_constant(emitter, instruction);
        return;
    default: /* nop */
        return;
    }
}

static void emit_instruction(struct aot_emitter *emitter)
{
    struct aot_instruction instruction;

    read_instruction(emitter, &instruction);
    if (!aot_emit_control(emitter, &instruction) && !aot_emit_numeric(emitter, &instruction) &&
        !aot_emit_memory(emitter, &instruction) && !aot_emit_call(emitter, &instruction) &&
        !aot_emit_table(emitter, &instruction))
        emit_parametric(emitter, &instruction);
}

/* ---- a function ---- */

void aot_begin_function(struct aot_emitter *emitter, uint32_t index)
{
    emitter->index = index;
    emitter->type = wasm_type_of_function(emitter->module, index);
    emitter->function = emitter->functions[index];
    emitter->base = LLVMGetParam(emitter->function, 0);
    emitter->stack_left = LLVMGetParam(emitter->function, 1);
    emitter->trap = NULL;
    emitter->height = emitter->control_count = emitter->local_count = 0;
    emitter->dead_depth = emitter->pending = 0;
    emitter->has_calls = false;
}

static void add_local(struct aot_emitter *emitter, uint8_t type, LLVMValueRef value)
{
    const uint32_t index = emitter->local_count++;
    uint32_t capacity = emitter->local_capacity;

    emitter->locals = aot_grow(emitter->locals, &capacity, index + 1, sizeof *emitter->locals);
    emitter->local_types = aot_grow(emitter->local_types, &emitter->local_capacity, index + 1,
                                    sizeof *emitter->local_types);
    emitter->local_types[index] = type;
    emitter->locals[index] = aot_variable(emitter, aot_type(emitter, type));
    LLVMBuildStore(emitter->builder, value, emitter->locals[index]);
}

static void begin_locals(struct aot_emitter *emitter)
{
    const struct wasm_bytes parameters = emitter->type->parameters;
    const struct wasm_bytes body = emitter->module->functions[emitter->index].body;
    uint32_t groups;

    for (uint32_t i = 0; i < parameters.length; i++)
        add_local(emitter, parameters.data[i],
                  LLVMGetParam(emitter->function, AOT_HIDDEN_PARAMETERS + i));
    emitter->reader = wasm_reader_over(body.data, body.length);
    groups = wasm_read_count(&emitter->reader);
    for (uint32_t i = 0; i < groups; i++) {
        const uint32_t count = wasm_read_u32(&emitter->reader);
        const uint8_t type = wasm_read_byte(&emitter->reader);

        for (uint32_t k = 0; k < count; k++)
            add_local(emitter, type, LLVMConstNull(aot_type(emitter, type)));
    }
}

/*
 * A function that calls others tests once that its own frame fits, and a small callee's. Recursion
 * without a loop ends at the latest when the operations are used up. Both numbers are negative
 * where there is too little, which one test of their common sign bit finds.
 */
static void check_entry(struct aot_emitter *emitter)
{
    LLVMBuilderRef builder = emitter->builder;
    const uint64_t needed = emitter->codes[emitter->index].stack_bytes + COMPILED_LEAF_STACK;
    LLVMValueRef rest = LLVMBuildSub(builder, emitter->stack_left, aot_i64(emitter, needed), "");

    if (!emitter->has_calls && needed <= 2 * (uint64_t)COMPILED_LEAF_STACK)
        return;
    if (emitter->has_calls)
        rest = LLVMBuildOr(builder, rest, aot_operations_left(emitter), "");
    aot_trap_if(emitter, LLVMBuildICmp(builder, LLVMIntSLT, rest, aot_i64(emitter, 0), ""));
}

static void emit_body(struct aot_emitter *emitter)
{
    /* The entry tests what the body needs, so it is written after the body. */
    LLVMBasicBlockRef entry = LLVMGetInsertBlock(emitter->builder);
    LLVMBasicBlockRef start = aot_new_block(emitter);

    emitter->pending = emitter->codes[emitter->index].frame_operations;
    emitter->controls =
        aot_grow(emitter->controls, &emitter->control_capacity, 1, sizeof *emitter->controls);
    emitter->controls[emitter->control_count++] =
        (struct aot_control){.kind = AOT_BLOCK, .results = emitter->type->results};
    LLVMPositionBuilderAtEnd(emitter->builder, start);
    while (emitter->control_count > 0)
        emit_instruction(emitter);
    LLVMPositionBuilderAtEnd(emitter->builder, entry);
    check_entry(emitter);
    LLVMBuildBr(emitter->builder, start);
}

/*
 * Passes and the choice of instructions take more than linear time in a function's length, and in
 * locals times blocks. Contracts' functions are far smaller than these limits.
 */
static void limit_effort(struct aot_emitter *emitter)
{
    enum { BODY_MOST = 128 << 10, VARIABLES_MOST = 2000000 };
    const uint64_t blocks = LLVMCountBasicBlocks(emitter->function);
    const unsigned kinds[] = {emitter->not_optimized, emitter->not_inlined};

    if (emitter->module->functions[emitter->index].body.length <= BODY_MOST &&
        emitter->local_count * blocks <= VARIABLES_MOST)
        return;
    for (unsigned i = 0; i < 2; i++)
        LLVMAddAttributeAtIndex(emitter->function, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                                LLVMCreateEnumAttribute(emitter->context, kinds[i], 0));
}

void aot_emit_function(struct aot_emitter *emitter, uint32_t index)
{
    LLVMBasicBlockRef variables, body;

    aot_begin_function(emitter, index);
    variables = aot_new_block(emitter);
    body = aot_new_block(emitter);
    LLVMPositionBuilderAtEnd(emitter->entry_builder, variables);
    LLVMPositionBuilderAtEnd(emitter->builder, body);
    emitter->left = aot_variable(emitter, emitter->i64);
    aot_set_operations_left(emitter, LLVMGetParam(emitter->function, 2));
    begin_locals(emitter);
    if (emitter->codes[index].cells == NULL)
        aot_emit_trap(emitter); /* its frame exceeds every limit */
    else
        emit_body(emitter);
    LLVMBuildBr(emitter->entry_builder, body);
    limit_effort(emitter);
}
