/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_METER_PASS_IR_H
#define GASPIPE_METER_PASS_IR_H

#include <llvm-c/Core.h>
#include <llvm-c/Target.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "meter/costs/cost_table.h"

/* The current module, and frequently used types. */
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

/* Returns true for call, invoke and callbr. */
bool ir_is_call(LLVMValueRef instruction);

/* Returns the name of the called function; "" for a pointer, inline assembly, or no call. */
const char *ir_callee_name(LLVMValueRef instruction);

bool ir_is_intrinsic_call(LLVMValueRef instruction);

bool ir_has_body(LLVMValueRef function);

/* Returns true if only this module can refer to it by name. */
bool ir_is_own(LLVMValueRef function);

/* Returns the function with a body that a call names, if the types agree; NULL if none. */
LLVMValueRef ir_callee_here(LLVMValueRef instruction);

/* Returns true if control can reach the point after this call several times, with longjmp() or
 * setcontext(). */
bool ir_returns_again(LLVMValueRef instruction);

/* Returns where to build what uses a call's result; NULL if other code leads there, too, or the
 * caller must return at once. */
LLVMValueRef ir_after_call(LLVMValueRef call);

/* Returns true if the call has the arguments and the result that the cost is computed from. A
 * program may have a function of its own by libc's name, such as index(), with others. */
bool ir_has_types(const struct ir *ir, LLVMValueRef call, const struct cost *cost);

/* Returns the cost of this call's libc function; NULL if none. Functions that the module defines,
 * or that are called with other types than libc's, have none. */
const struct cost *ir_charged_call(const struct ir *ir, LLVMValueRef instruction);

/* The same; also NULL if the function may leave the program's code: wait, end it or call back. */
const struct cost *ir_libc_call(const struct ir *ir, LLVMValueRef instruction);

LLVMValueRef ir_number(const struct ir *ir, uint64_t number);

/* Returns an attribute's number by its name in LLVM assembly. */
unsigned ir_attribute_kind(const char *name);

/* Returns the first instruction after phis and landing pads. */
LLVMValueRef ir_first_in_block(LLVMBasicBlockRef block);

/* A map from pointers to small numbers; all zeros is empty. If out of memory it ends the
 * program. */
struct pointer_set {
    struct pointer_set_entry {
        const void *pointer; /* NULL: free */
        size_t number;
    } * entries;
    size_t count;
    size_t capacity; /* 0 or a power of two */
};

void pointer_set_add(struct pointer_set *set, const void *pointer, size_t number);

/* Returns true if the pointer is in the set. *number (may be NULL) receives its number. */
bool pointer_set_find(const struct pointer_set *set, const void *pointer, size_t *number);

void pointer_set_free(struct pointer_set *set);

/* Like calloc(), but ends the program if out of memory. */
void *pass_allocate(size_t count, size_t size);

#endif
