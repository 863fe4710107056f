/* SPDX-License-Identifier: Apache-2.0 */
#include "counter/qemu/code/call_stack.h"

#include <stdlib.h>

/* A program that recurses deeper has no such stack. */
#define CALLS_MAX   ((size_t)1 << 22)
#define FIRST_CALLS 64

static bool is_on_other(const struct call_stack *stack, uint64_t slot)
{
    return slot >= stack->other_start && slot < stack->other_end;
}

/*
 * A handler on the other stack was entered from the first, and ends when
 * something is done on the first again.
 */
static bool is_over(const struct call_stack *stack, const struct call *call, uint64_t slot)
{
    bool call_on_other = is_on_other(stack, call->slot);

    if (call_on_other != is_on_other(stack, slot))
        return call_on_other;
    return call->slot <= slot;
}

void call_stack_leave_either(struct call_stack *stack, uint64_t slot)
{
    while (stack->top > stack->calls && is_over(stack, stack->top, slot))
        stack->top--;
}

bool call_stack_grow(struct call_stack *stack)
{
    const size_t used = stack->calls != NULL ? call_stack_depth(stack) + 1 : 0;
    const size_t room = used > 0 ? 2 * used : FIRST_CALLS;
    struct call *const larger =
        room <= CALLS_MAX ? realloc(stack->calls, room * sizeof *larger) : NULL;

    if (larger == NULL)
        return false;
    stack->calls = larger;
    stack->top = larger + (used > 0 ? used - 1 : 0);
    stack->end = larger + room;
    return true;
}

bool call_stack_begin(struct call_stack *stack, void *chain)
{
    if (stack->calls == NULL && !call_stack_grow(stack))
        return false;
    stack->calls[0] = (struct call){UINT64_MAX, chain};
    stack->top = stack->calls;
    stack->other_start = stack->other_end = 0;
    return true;
}

void call_stack_free(struct call_stack *stack)
{
    free(stack->calls);
    *stack = (struct call_stack){0};
}
