/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_COUNTER_QEMU_CODE_CALL_STACK_H
#define GASPIPE_COUNTER_QEMU_CODE_CALL_STACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The calls that a thread is in, by where their return addresses lie. Stacks
 * grow downwards: a call is over when something is done above its return
 * address, on the same stack.
 */

struct call {
    uint64_t slot; /* where its return address lies */
    void *chain;   /* the caller's name for it and all around it */
};

struct call_stack {
    struct call *calls;              /* owned; the outermost first, behind one that is in no call */
    struct call *top, *end;          /* the innermost; where there is no room for another */
    uint64_t other_start, other_end; /* a second stack, for signal handlers; 0 and 0: none */
};

/* In no call, whose chain is that; a stack that is all zeros, or is used again. False without
 * memory. */
bool call_stack_begin(struct call_stack *stack, void *chain);

static inline size_t call_stack_depth(const struct call_stack *stack)
{
    return (size_t)(stack->top - stack->calls);
}

/* For call_stack_leave(), where there is a second stack. */
void call_stack_leave_either(struct call_stack *stack, uint64_t slot);

/* Ends the calls whose return address lies at or below `slot`, which no stack has at its end. */
static inline void call_stack_leave(struct call_stack *stack, uint64_t slot)
{
    struct call *top = stack->top;

    if (__builtin_expect(stack->other_end != 0, 0)) {
        call_stack_leave_either(stack, slot);
        return;
    }
    while (top->slot <= slot)
        top--; /* the outermost lies above all */
    stack->top = top;
}

/* For call_stack_enter(): room for more. False without memory, or when it is too deep. */
bool call_stack_grow(struct call_stack *stack);

/* Enters one more. False without memory. */
static inline bool call_stack_enter(struct call_stack *stack, uint64_t slot, void *chain)
{
    if (__builtin_expect(stack->top + 1 == stack->end, 0) && !call_stack_grow(stack))
        return false;
    *++stack->top = (struct call){slot, chain};
    return true;
}

void call_stack_free(struct call_stack *stack);

#endif
