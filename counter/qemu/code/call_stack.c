/* SPDX-License-Identifier: Apache-2.0 */
#include "counter/qemu/code/call_stack.h"

#include <stdlib.h>

/* A program that recurses deeper has no such stack. */
#define CALLS_MAX ((size_t)1 << 22)

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

void call_stack_leave(struct call_stack *stack, uint64_t slot)
{
    while (stack->depth > 0 && is_over(stack, &stack->calls[stack->depth - 1], slot))
        stack->depth--;
}

bool call_stack_enter(struct call_stack *stack, uint64_t slot, uint32_t id)
{
    if (stack->depth == stack->room) {
        size_t room = stack->room > 0 ? 2 * stack->room : 64;
        struct call *larger =
            room <= CALLS_MAX ? realloc(stack->calls, room * sizeof *larger) : NULL;

        if (larger == NULL)
            return false;
        stack->calls = larger;
        stack->room = room;
    }
    stack->calls[stack->depth++] = (struct call){slot, id};
    return true;
}

void call_stack_clear(struct call_stack *stack)
{
    stack->depth = 0;
    stack->other_start = stack->other_end = 0;
}

void call_stack_free(struct call_stack *stack)
{
    free(stack->calls);
    *stack = (struct call_stack){0};
}
