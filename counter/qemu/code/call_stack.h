/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_COUNTER_QEMU_CODE_CALL_STACK_H
#define GASPIPE_COUNTER_QEMU_CODE_CALL_STACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The calls that a thread is in, by where their return addresses lie. Stacks
 * grow downwards: a call is over when something is done above its return
 * address, on the same stack. All zeros: in no call.
 */

struct call {
    uint64_t slot; /* where its return address lies */
    uint32_t id;   /* the caller's name for it and all around it */
};

struct call_stack {
    struct call *calls; /* owned; the outermost first */
    size_t depth, room;
    uint64_t other_start, other_end; /* a second stack, for signal handlers */
};

/* Of the innermost call; 0 in none. */
static inline uint32_t call_stack_id(const struct call_stack *stack)
{
    return stack->depth > 0 ? stack->calls[stack->depth - 1].id : 0;
}

/* Ends the calls whose return address lies at or below `slot`. */
void call_stack_leave(struct call_stack *stack, uint64_t slot);

/* Enters one more. False without memory. */
bool call_stack_enter(struct call_stack *stack, uint64_t slot, uint32_t id);

/* In no call, as a new thread; memory is kept. */
void call_stack_clear(struct call_stack *stack);

void call_stack_free(struct call_stack *stack);

#endif
