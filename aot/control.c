/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "aot/emitter.h"

static struct aot_control *control_at(const struct aot_emitter *emitter, uint32_t depth)
{
    return &emitter->controls[emitter->control_count - 1 - depth];
}

/* The function's own block, whose end returns. */
static bool is_outermost(const struct aot_emitter *emitter, const struct aot_control *control)
{
    return control == emitter->controls;
}

static struct wasm_bytes label_types(const struct aot_control *control)
{
    return control->kind == AOT_LOOP ? control->parameters : control->results;
}

static void set_dead(struct aot_emitter *emitter)
{
    control_at(emitter, 0)->is_dead = true;
    emitter->pending = 0;
}

/* ---- branches ---- */

/* Leaves the operands where the target finds them. A NaN in them is looked at there. */
static void store_operands(struct aot_emitter *emitter, struct aot_control *control)
{
    const struct wasm_bytes types = label_types(control);
    const struct aot_operand *operands = &emitter->operands[emitter->height - types.length];

    if (control->slots == NULL) {
        control->slots = aot_take(types.length, sizeof(LLVMValueRef));
        for (uint32_t i = 0; i < types.length; i++)
            control->slots[i] = aot_variable(emitter, aot_type(emitter, types.data[i]));
    }
    for (uint32_t i = 0; i < types.length; i++)
        LLVMBuildStore(emitter->builder, operands[i].value, control->slots[i]);
}

static void load_operands(struct aot_emitter *emitter, const struct aot_control *control)
{
    const struct wasm_bytes types = label_types(control);

    emitter->height = control->height;
    for (uint32_t i = 0; i < types.length; i++)
        aot_push_computed(emitter,
                          LLVMBuildLoad2(emitter->builder, aot_type(emitter, types.data[i]),
                                         control->slots[i], ""));
}

static LLVMBasicBlockRef target_of(struct aot_control *control)
{
    control->is_branched = true;
    return control->target;
}

/* A loop ends at the latest when the operations are used up. */
static void check_loop(struct aot_emitter *emitter, const struct aot_control *control)
{
    if (control->kind == AOT_LOOP)
        aot_trap_if(emitter, LLVMBuildICmp(emitter->builder, LLVMIntSLT,
                                           aot_operations_left(emitter), aot_i64(emitter, 0), ""));
}

static void branch_to(struct aot_emitter *emitter, struct aot_control *control)
{
    if (is_outermost(emitter, control)) {
        aot_emit_return(emitter);
        return;
    }
    aot_settle(emitter);
    check_loop(emitter, control);
    store_operands(emitter, control);
    LLVMBuildBr(emitter->builder, target_of(control));
}

static void emit_branch_if(struct aot_emitter *emitter, uint32_t depth)
{
    struct aot_control *control = control_at(emitter, depth);
    LLVMValueRef condition = aot_pop_condition(emitter);
    LLVMBasicBlockRef next, taken;

    aot_settle(emitter);
    check_loop(emitter, control);
    next = aot_new_block(emitter);
    if (!is_outermost(emitter, control) && label_types(control).length == 0) {
        LLVMBuildCondBr(emitter->builder, condition, target_of(control), next);
    } else {
        taken = aot_new_block(emitter);
        LLVMBuildCondBr(emitter->builder, condition, taken, next);
        LLVMPositionBuilderAtEnd(emitter->builder, taken);
        branch_to(emitter, control);
    }
    LLVMPositionBuilderAtEnd(emitter->builder, next);
}

/* The block that a br_table jumps to for a depth. */
static LLVMBasicBlockRef table_target(struct aot_emitter *emitter, uint32_t depth)
{
    struct aot_control *control = control_at(emitter, depth);
    LLVMBasicBlockRef here = LLVMGetInsertBlock(emitter->builder), block;

    if (!is_outermost(emitter, control) && control->kind != AOT_LOOP &&
        label_types(control).length == 0)
        return target_of(control);
    block = aot_new_block(emitter);
    LLVMPositionBuilderAtEnd(emitter->builder, block);
    branch_to(emitter, control);
    LLVMPositionBuilderAtEnd(emitter->builder, here);
    return block;
}

static void emit_branch_table(struct aot_emitter *emitter, const uint32_t *depths, uint32_t count)
{
    LLVMBasicBlockRef *blocks = aot_take(emitter->control_count, sizeof(LLVMBasicBlockRef));
    LLVMValueRef index = aot_pop(emitter), jump;

    aot_settle(emitter);
    for (uint32_t i = 0; i <= count; i++)
        if (blocks[depths[i]] == NULL)
            blocks[depths[i]] = table_target(emitter, depths[i]);
    jump = LLVMBuildSwitch(emitter->builder, index, blocks[depths[count]], count);
    for (uint32_t i = 0; i < count; i++)
        LLVMAddCase(jump, aot_i32(emitter, i), blocks[depths[i]]);
    free(blocks);
}

/* ---- blocks ---- */

static void begin_loop(struct aot_emitter *emitter, struct aot_control *control)
{
    store_operands(emitter, control);
    LLVMBuildBr(emitter->builder, control->target);
    LLVMPositionBuilderAtEnd(emitter->builder, control->target);
    load_operands(emitter, control);
    emitter->pending = 1; /* in each round */
}

static void begin_if(struct aot_emitter *emitter, struct aot_control *control,
                     LLVMValueRef condition)
{
    const uint32_t count = control->parameters.length;
    LLVMBasicBlockRef then = aot_new_block(emitter);

    control->otherwise = aot_new_block(emitter);
    control->saved = aot_take(count, sizeof(LLVMValueRef));
    for (uint32_t i = 0; i < count; i++)
        control->saved[i] = emitter->operands[control->height + i].value;
    LLVMBuildCondBr(emitter->builder, condition, then, control->otherwise);
    LLVMPositionBuilderAtEnd(emitter->builder, then);
}

static void begin_block(struct aot_emitter *emitter, const struct aot_instruction *instruction)
{
    const bool is_if = instruction->opcode == WASM_IF;
    LLVMValueRef condition = NULL;
    struct aot_control *control;

    emitter->controls = aot_grow(emitter->controls, &emitter->control_capacity,
                                 emitter->control_count + 1, sizeof *emitter->controls);
    if (is_if) {
        emitter->pending++;
        condition = aot_pop_condition(emitter);
    }
    if (instruction->opcode != WASM_BLOCK)
        aot_settle(emitter);
    control = &emitter->controls[emitter->control_count++];
    *control = (struct aot_control){
        .kind = is_if                              ? AOT_IF
                : instruction->opcode == WASM_LOOP ? AOT_LOOP
                                                   : AOT_BLOCK,
        .parameters = instruction->parameters,
        .results = instruction->results,
        .height = emitter->height - instruction->parameters.length,
        .target = aot_new_block(emitter),
    };
    if (is_if)
        begin_if(emitter, control, condition);
    else if (control->kind == AOT_LOOP)
        begin_loop(emitter, control);
}

/* Goes to the end of the block. */
static void leave_block(struct aot_emitter *emitter, struct aot_control *control)
{
    if (control->is_dead)
        return;
    aot_settle(emitter);
    store_operands(emitter, control);
    LLVMBuildBr(emitter->builder, target_of(control));
}

static void begin_else(struct aot_emitter *emitter)
{
    struct aot_control *control = control_at(emitter, 0);

    leave_block(emitter, control);
    control->is_dead = false;
    emitter->pending = 0;
    LLVMPositionBuilderAtEnd(emitter->builder, control->otherwise);
    control->otherwise = NULL;
    emitter->height = control->height;
    for (uint32_t i = 0; i < control->parameters.length; i++)
        aot_push_computed(emitter, control->saved[i]);
}

static void end_block(struct aot_emitter *emitter)
{
    struct aot_control *control = control_at(emitter, 0);
    bool is_dead;

    if (control->otherwise != NULL)
        begin_else(emitter);
    is_dead = control->is_dead;
    if (control->kind == AOT_LOOP) {
        /* Branches went to its beginning. */
    } else if (!control->is_branched) {
        LLVMDeleteBasicBlock(control->target);
    } else {
        leave_block(emitter, control);
        LLVMMoveBasicBlockAfter(control->target, LLVMGetLastBasicBlock(emitter->function));
        LLVMPositionBuilderAtEnd(emitter->builder, control->target);
        load_operands(emitter, control);
        emitter->pending = 0;
        is_dead = false;
    }
    free(control->slots);
    free(control->saved);
    emitter->control_count--;
    if (is_dead)
        set_dead(emitter);
}

static void end_function(struct aot_emitter *emitter)
{
    if (!emitter->controls->is_dead)
        aot_emit_return(emitter);
    emitter->control_count = 0;
}

/* ---- one instruction ---- */

/* Code that is never reached has no operands: only its blocks are counted. */
static bool skip_dead(struct aot_emitter *emitter, uint8_t opcode)
{
    if (!control_at(emitter, 0)->is_dead)
        return false;
    if (opcode == WASM_BLOCK || opcode == WASM_LOOP || opcode == WASM_IF)
        emitter->dead_depth++;
    else if (emitter->dead_depth == 0)
        return opcode != WASM_ELSE && opcode != WASM_END;
    else if (opcode == WASM_END)
        emitter->dead_depth--;
    return true;
}

static bool emit_jump(struct aot_emitter *emitter, const struct aot_instruction *instruction)
{
    emitter->pending++;
    switch (instruction->opcode) {
    case WASM_BR:
        branch_to(emitter, control_at(emitter, instruction->first));
        break;
    case WASM_BR_TABLE:
        emit_branch_table(emitter, instruction->depths, instruction->first);
        break;
    case WASM_RETURN:
        aot_emit_return(emitter);
        break;
    case WASM_UNREACHABLE:
        aot_emit_trap(emitter);
        break;
    default:
        emitter->pending--;
        return false;
    }
    set_dead(emitter);
    return true;
}

bool aot_emit_control(struct aot_emitter *emitter, const struct aot_instruction *instruction)
{
    if (skip_dead(emitter, instruction->opcode) || emit_jump(emitter, instruction))
        return true;
    switch (instruction->opcode) {
    case WASM_BLOCK:
    case WASM_LOOP:
    case WASM_IF:
        begin_block(emitter, instruction);
        return true;
    case WASM_ELSE:
        begin_else(emitter);
        return true;
    case WASM_END:
        if (emitter->control_count == 1)
            end_function(emitter);
        else
            end_block(emitter);
        return true;
    case WASM_BR_IF:
        emitter->pending++;
        emit_branch_if(emitter, instruction->first);
        return true;
    default:
        return false;
    }
}
