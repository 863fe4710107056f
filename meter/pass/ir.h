/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_METER_PASS_IR_H
#define GASPIPE_METER_PASS_IR_H

#include <llvm-c/Core.h>
#include <llvm-c/Target.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "meter/costs/cost_table.h"

/* The module at work, and the types that are asked for again and again. */
struct ir {
    LLVMContextRef context;
    LLVMModuleRef module;
    LLVMTargetDataRef layout;
    LLVMTypeRef i64;
    LLVMTypeRef i32;
    LLVMTypeRef none; /* void */
    LLVMTypeRef pointer;
    const struct cost_table *costs;
};

void ir_init(struct ir *ir, LLVMModuleRef module, LLVMTargetDataRef layout,
             const struct cost_table *costs);

bool ir_starts_with(const char *text, const char *prefix);

/* Call, invoke or callbr. */
bool ir_is_call(LLVMValueRef instruction);

/* What a call calls by name; "" for a pointer, inline assembly, and what is no call. */
const char *ir_callee_name(LLVMValueRef instruction);

bool ir_is_intrinsic_call(LLVMValueRef instruction);

bool ir_has_body(LLVMValueRef function);

/* Does only its own module know it by name? */
bool ir_is_own(LLVMValueRef function);

/* The function with a body that a call names, by the type that it has; NULL: none. */
LLVMValueRef ir_callee_here(LLVMValueRef instruction);

/* Can control come back to the point after this call again, as longjmp() and setcontext() bring it?
 */
bool ir_returns_again(LLVMValueRef instruction);

/*
 * The function of libc that the table charges at this call; NULL: none. One that the module
 * itself has a body of, or that must not be taken for libc's (-fno-builtin), is none.
 */
const struct cost *ir_libc_call(const struct ir *ir, LLVMValueRef instruction);

LLVMValueRef ir_number(const struct ir *ir, uint64_t number);

/* An attribute by its name in LLVM's language. */
unsigned ir_attribute_kind(const char *name);

/* What follows phis and landing pads: where a block's code may begin. */
LLVMValueRef ir_first_in_block(LLVMBasicBlockRef block);

/*
 * A map from pointers to small numbers. One that is all zeros is empty. Memory that runs
 * out ends the program: a compiler has nobody to go back to.
 */
struct pointer_set {
    struct pointer_set_entry {
        const void *pointer; /* NULL: free */
        size_t number;
    } * entries;
    size_t count;
    size_t capacity; /* 0 or a power of two */
};

void pointer_set_add(struct pointer_set *set, const void *pointer, size_t number);

/* Is it there? `number`, which may be NULL, gets what it was added with. */
bool pointer_set_find(const struct pointer_set *set, const void *pointer, size_t *number);

void pointer_set_free(struct pointer_set *set);

/* As malloc(), zeroed; ends the program instead of returning NULL. */
void *pass_allocate(size_t count, size_t size);

#endif
