/* SPDX-License-Identifier: Apache-2.0 */
#include "meter/pass/ir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void ir_init(struct ir *ir, LLVMModuleRef module, LLVMTargetDataRef layout,
             const struct cost_table *costs)
{
    LLVMContextRef context = LLVMGetModuleContext(module);

    *ir = (struct ir){
        .context = context,
        .module = module,
        .layout = layout,
        .i64 = LLVMInt64TypeInContext(context),
        .i32 = LLVMInt32TypeInContext(context),
        .none = LLVMVoidTypeInContext(context),
        .pointer = LLVMPointerTypeInContext(context, 0),
        .costs = costs,
    };
}

bool ir_starts_with(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

bool ir_is_call(LLVMValueRef instruction)
{
    LLVMOpcode opcode = LLVMGetInstructionOpcode(instruction);

    return opcode == LLVMCall || opcode == LLVMInvoke || opcode == LLVMCallBr;
}

const char *ir_callee_name(LLVMValueRef instruction)
{
    LLVMValueRef callee;
    size_t length;

    if (!ir_is_call(instruction))
        return "";
    callee = LLVMGetCalledValue(instruction);
    return callee && LLVMIsAFunction(callee) ? LLVMGetValueName2(callee, &length) : "";
}

bool ir_is_intrinsic_call(LLVMValueRef instruction)
{
    return ir_starts_with(ir_callee_name(instruction), "llvm.");
}

bool ir_has_body(LLVMValueRef function)
{
    return LLVMIsAFunction(function) && LLVMCountBasicBlocks(function) > 0;
}

bool ir_is_own(LLVMValueRef function)
{
    LLVMLinkage linkage = LLVMGetLinkage(function);

    return linkage == LLVMInternalLinkage || linkage == LLVMPrivateLinkage;
}

LLVMValueRef ir_callee_here(LLVMValueRef instruction)
{
    LLVMValueRef callee = ir_is_call(instruction) ? LLVMGetCalledValue(instruction) : NULL;

    if (!callee || !ir_has_body(callee) ||
        LLVMGetCalledFunctionType(instruction) != LLVMGlobalGetValueType(callee))
        return NULL;
    return callee;
}

bool ir_returns_again(LLVMValueRef instruction)
{
    const unsigned kind = ir_attribute_kind("returns_twice");
    LLVMValueRef callee = ir_is_call(instruction) ? LLVMGetCalledValue(instruction) : NULL;

    if (!callee)
        return false;
    if (LLVMGetCallSiteEnumAttribute(instruction, LLVMAttributeFunctionIndex, kind) ||
        ir_starts_with(ir_callee_name(instruction), "llvm.eh.sjlj.setjmp"))
        return true;
    /* clang gives swapcontext() no attribute, but the saved context can return several times. */
    return LLVMIsAFunction(callee) &&
           (LLVMGetEnumAttributeAtIndex(callee, LLVMAttributeFunctionIndex, kind) ||
            strcmp(ir_callee_name(instruction), "swapcontext") == 0);
}

unsigned ir_attribute_kind(const char *name)
{
    return LLVMGetEnumAttributeKindForName(name, strlen(name));
}

static bool is_of_kind(const struct ir *ir, LLVMTypeRef type, char letter)
{
    switch (letter) {
    case 'p':
        return LLVMGetTypeKind(type) == LLVMPointerTypeKind;
    case 'n':
        return LLVMGetTypeKind(type) == LLVMIntegerTypeKind;
    case 'i':
        return type == ir->i32;
    default:
        return type == ir->i64;
    }
}

static bool has_types_of(const struct ir *ir, LLVMValueRef call, const struct cost_term *term)
{
    const struct cost_kind *kind = term->kind;

    for (size_t i = 0; kind->arguments[i]; i++)
        if (term->arguments[i] >= LLVMGetNumArgOperands(call) ||
            !is_of_kind(ir, LLVMTypeOf(LLVMGetOperand(call, term->arguments[i])),
                        kind->arguments[i]))
            return false;
    return !kind->result || (ir_after_call(call) && is_of_kind(ir, LLVMTypeOf(call), kind->result));
}

bool ir_has_types(const struct ir *ir, LLVMValueRef call, const struct cost *cost)
{
    for (size_t i = 0; i < cost->term_count; i++)
        if (!has_types_of(ir, call, &cost->terms[i]))
            return false;
    return true;
}

LLVMValueRef ir_after_call(LLVMValueRef call)
{
    LLVMValueRef block;

    if (LLVMIsACallInst(call))
        return LLVMGetTailCallKind(call) == LLVMTailCallKindMustTail ? NULL
                                                                     : LLVMGetNextInstruction(call);
    if (!LLVMIsAInvokeInst(call))
        return NULL;
    /* Instructions built there must run only after this call. */
    block = LLVMBasicBlockAsValue(LLVMGetNormalDest(call));
    return LLVMGetNextUse(LLVMGetFirstUse(block)) ? NULL
                                                  : ir_first_in_block(LLVMGetNormalDest(call));
}

const struct cost *ir_charged_call(const struct ir *ir, LLVMValueRef instruction)
{
    const char *name = ir_callee_name(instruction);
    const struct cost *cost;

    if (!*name || ir_has_body(LLVMGetCalledValue(instruction)))
        return NULL;
    cost = cost_of_call(ir->costs, name);
    return cost && !cost->uncounted && ir_has_types(ir, instruction, cost) ? cost : NULL;
}

const struct cost *ir_libc_call(const struct ir *ir, LLVMValueRef instruction)
{
    const struct cost *cost = ir_charged_call(ir, instruction);

    return cost && !cost->leaves && LLVMIsACallInst(instruction) ? cost : NULL;
}

LLVMValueRef ir_number(const struct ir *ir, uint64_t number)
{
    return LLVMConstInt(ir->i64, number, false);
}

LLVMValueRef ir_first_in_block(LLVMBasicBlockRef block)
{
    LLVMValueRef instruction = LLVMGetFirstInstruction(block);

    while (LLVMGetInstructionOpcode(instruction) == LLVMPHI ||
           LLVMGetInstructionOpcode(instruction) == LLVMLandingPad)
        instruction = LLVMGetNextInstruction(instruction);
    return instruction;
}

/* ---- sets of pointers ---- */

#define FIRST_CAPACITY 64

void *pass_allocate(size_t count, size_t size)
{
    void *memory = calloc(count > 0 ? count : 1, size);

    if (!memory) {
        fputs("gaspipe-meter: out of memory\n", stderr);
        exit(4);
    }
    return memory;
}

/* Returns the pointer's entry, or the free entry where it belongs. */
static struct pointer_set_entry *pointer_set_place_of(const struct pointer_set *set,
                                                      const void *pointer)
{
    uint64_t hash = ((uintptr_t)pointer >> 4) * UINT64_C(0x9e3779b97f4a7c15);
    size_t i = (size_t)(hash >> 32) & (set->capacity - 1);

    while (set->entries[i].pointer && set->entries[i].pointer != pointer)
        i = (i + 1) & (set->capacity - 1);
    return &set->entries[i];
}

static void grow_pointer_set(struct pointer_set *set)
{
    struct pointer_set old = *set;

    set->capacity = old.capacity > 0 ? 2 * old.capacity : FIRST_CAPACITY;
    set->entries = pass_allocate(set->capacity, sizeof *set->entries);
    for (size_t i = 0; i < old.capacity; i++)
        if (old.entries[i].pointer)
            *pointer_set_place_of(set, old.entries[i].pointer) = old.entries[i];
    free(old.entries);
}

void pointer_set_add(struct pointer_set *set, const void *pointer, size_t number)
{
    struct pointer_set_entry *entry;

    if (2 * (set->count + 1) > set->capacity)
        grow_pointer_set(set);
    entry = pointer_set_place_of(set, pointer);
    if (!entry->pointer)
        set->count++;
    *entry = (struct pointer_set_entry){pointer, number};
}

bool pointer_set_find(const struct pointer_set *set, const void *pointer, size_t *number)
{
    const struct pointer_set_entry *entry;

    if (set->capacity == 0)
        return false;
    entry = pointer_set_place_of(set, pointer);
    if (number && entry->pointer)
        *number = entry->number;
    return entry->pointer != NULL;
}

void pointer_set_free(struct pointer_set *set)
{
    free(set->entries);
    *set = (struct pointer_set){0};
}
