/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_AOT_EMITTER_H
#define GASPIPE_AOT_EMITTER_H

#include <llvm-c/Core.h>
#include <stdbool.h>
#include <stdint.h>

#include "worker/wasm/compile/code.h"
#include "worker/wasm/compile/compiler.h"
#include "worker/wasm/module/module.h"

/*
 * Translates a validated module to LLVM's IR. A call gives what the interpreter would give, or
 * nothing: if it traps, runs out of gas or stack, or computes a NaN whose bits show, it executes an
 * invalid instruction, and the worker repeats the call in the interpreter.
 * So compiled code need not know why it ends, nor what the instructions before have cost.
 *
 * Every function takes the memory's base, the operand stack's bytes that are left, and the
 * operations that are left; it returns these operations before its results.
 */

enum aot_kind { AOT_BLOCK, AOT_LOOP, AOT_IF };

/* A block, loop or if that is open. */
struct aot_control {
    enum aot_kind kind;
    struct wasm_bytes parameters, results;
    uint32_t height;             /* number of operands below its parameters */
    LLVMBasicBlockRef target;    /* where branches to it lead */
    LLVMBasicBlockRef otherwise; /* where an if leads until its else is read */
    LLVMValueRef *slots;         /* where branches leave their operands; owned */
    LLVMValueRef *saved;         /* an if's parameters; owned */
    bool is_branched;            /* a branch leads to the target */
    bool is_dead;                /* the code here is never reached */
};

struct aot_operand {
    LLVMValueRef value;
    bool may_be_nan; /* one whose bits differ from the interpreter's */
};

/* An instruction with its immediate operands. */
struct aot_instruction {
    uint8_t opcode;
    uint32_t prefixed;                     /* the opcode after WASM_PREFIX */
    struct wasm_bytes parameters, results; /* a block's types */
    uint32_t first, second;                /* indices, depth, or offset */
    uint64_t constant;
    const uint32_t *depths; /* br_table's: `first` depths, and the default */
};

struct aot_emitter {
    const struct wasm_module *module;
    const struct wasm_code *codes;
    LLVMContextRef context;
    LLVMModuleRef llvm;
    LLVMBuilderRef builder, entry_builder; /* the second: at the function's beginning */
    LLVMTypeRef i1, i8, i16, i32, i64, f32, f64, pointer, nothing;
    LLVMTypeRef *types;      /* functions' types, by number */
    LLVMValueRef *functions; /* by number */
    LLVMValueRef *values;    /* space for the longest list of arguments or results */
    unsigned tbaa_kind, weight_kind;
    LLVMValueRef memory_tag, table_tag, context_tag, *global_tags, unlikely;
    unsigned nounwind, base_register, memory_effects, will_return, not_optimized, not_inlined;

    /* ---- the function at hand ---- */
    uint32_t index;
    const struct wasm_function_type *type;
    LLVMValueRef function, base, stack_left, left; /* left: the variable */
    LLVMBasicBlockRef trap;
    struct wasm_reader reader;
    struct aot_operand *operands;
    uint32_t height, operand_capacity;
    struct aot_control *controls;
    uint32_t control_count, control_capacity;
    uint32_t dead_depth; /* blocks that were opened in code that is never reached */
    LLVMValueRef *locals;
    uint8_t *local_types;
    uint32_t local_count, local_capacity;
    uint32_t *depths;
    uint32_t depth_capacity;
    uint32_t pending; /* operations that are not charged yet */
    bool has_calls;
};

/* Parameters and results that each function has in addition. */
enum { AOT_HIDDEN_PARAMETERS = 3, AOT_HIDDEN_RESULTS = 1 };

/* Ends the program if out of memory. The memory is zeroed, or its new part is not. */
void *aot_take(size_t count, size_t size);
void *aot_grow(void *items, uint32_t *capacity, uint32_t needed, size_t size);

/* ---- aot/values.c: constants, operands, gas ---- */
LLVMTypeRef aot_type(const struct aot_emitter *emitter, uint8_t type);
LLVMValueRef aot_i32(const struct aot_emitter *emitter, uint32_t value);
LLVMValueRef aot_i64(const struct aot_emitter *emitter, uint64_t value);
LLVMBasicBlockRef aot_new_block(const struct aot_emitter *emitter);

/* A variable of the function. */
LLVMValueRef aot_variable(struct aot_emitter *emitter, LLVMTypeRef type);

/* A member of the context at that offset. */
LLVMValueRef aot_at(struct aot_emitter *emitter, LLVMValueRef start, int64_t offset);
LLVMValueRef aot_field(struct aot_emitter *emitter, uint64_t offset);
LLVMValueRef aot_load_field(struct aot_emitter *emitter, LLVMTypeRef type, uint64_t offset,
                            LLVMValueRef tag);
void aot_store_field(struct aot_emitter *emitter, LLVMValueRef value, uint64_t offset,
                     LLVMValueRef tag);

/* Says what kind of memory a load or store accesses. */
LLVMValueRef aot_tagged(const struct aot_emitter *emitter, LLVMValueRef access, LLVMValueRef tag);

void aot_trap_if(struct aot_emitter *emitter, LLVMValueRef condition);

void aot_push(struct aot_emitter *emitter, LLVMValueRef value);
void aot_push_condition(struct aot_emitter *emitter, LLVMValueRef condition);

/* A value that was computed, or may have been. */
void aot_push_computed(struct aot_emitter *emitter, LLVMValueRef value);

/* Abandons the call if the value is a NaN that was computed. */
LLVMValueRef aot_pop(struct aot_emitter *emitter);
LLVMValueRef aot_checked(struct aot_emitter *emitter, const struct aot_operand *operand);

/* For an operation to which all NaNs are alike. */
LLVMValueRef aot_pop_any(struct aot_emitter *emitter);
LLVMValueRef aot_pop_condition(struct aot_emitter *emitter);

LLVMValueRef aot_operations_left(struct aot_emitter *emitter);
void aot_set_operations_left(struct aot_emitter *emitter, LLVMValueRef left);
void aot_charge(struct aot_emitter *emitter, LLVMValueRef operations);

/* Charges what is pending. */
void aot_settle(struct aot_emitter *emitter);

LLVMValueRef aot_intrinsic(struct aot_emitter *emitter, const char *name, LLVMTypeRef *types,
                           unsigned type_count, LLVMValueRef *arguments, unsigned count);

/* ---- instructions; false: not one of these ---- */
bool aot_emit_numeric(struct aot_emitter *emitter, const struct aot_instruction *instruction);
bool aot_emit_float(struct aot_emitter *emitter, uint8_t opcode);
bool aot_emit_conversion(struct aot_emitter *emitter, uint8_t opcode);
void aot_emit_saturating(struct aot_emitter *emitter, uint32_t prefixed);
bool aot_emit_memory(struct aot_emitter *emitter, const struct aot_instruction *instruction);
bool aot_emit_table(struct aot_emitter *emitter, const struct aot_instruction *instruction);
bool aot_emit_call(struct aot_emitter *emitter, const struct aot_instruction *instruction);
bool aot_emit_control(struct aot_emitter *emitter, const struct aot_instruction *instruction);

/* ---- aot/calls.c ---- */
LLVMTypeRef aot_function_type(struct aot_emitter *emitter, const struct wasm_function_type *type);
LLVMValueRef aot_result(struct aot_emitter *emitter, LLVMValueRef call, uint32_t count,
                        uint32_t index);

/* Marks a call as one of a compiled function: how it passes arguments, and the base's register. */
void aot_mark_call(const struct aot_emitter *emitter, LLVMValueRef call);
void aot_emit_return(struct aot_emitter *emitter);

/* Hands over to the interpreter. */
void aot_emit_trap(struct aot_emitter *emitter);

/* ---- aot/function.c ---- */
void aot_begin_function(struct aot_emitter *emitter, uint32_t index);
void aot_emit_function(struct aot_emitter *emitter, uint32_t index);

/* ---- aot/module.c ---- */

/* NULL, or why the module stays interpreted. */
const char *aot_refusal(const struct wasm_module *module);

/* Translates the module. The caller disposes of emitter->context. */
void aot_emit_module(struct aot_emitter *emitter, const struct wasm_module *module,
                     const struct wasm_code *codes);
void aot_free_emitter(struct aot_emitter *emitter);

#endif
