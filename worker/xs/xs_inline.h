/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_WORKER_XS_XS_INLINE_H
#define GASPIPE_WORKER_XS_XS_INLINE_H

/*
 * Small functions that XS calls all the time, inline, for `gcc -include` in front of XS's files
 * (scripts/xs.mk). Under QEMU the return from a function costs as much as many instructions: it is
 * an indirect jump, and QEMU has to look up where it goes.
 *
 * Each does what XS's own function does, and calls that one when there is something to report.
 */
#include <xsAll.h>

/* Of xsAPI.c: whether the stack has room for `count` slots more (negative) or less. */
static inline __attribute__((always_inline)) void xs_inline_overflow(txMachine *the,
                                                                     txInteger count)
{
    const txSlot *stack = the->stack + count;

    if (__builtin_expect(count < 0 ? stack < the->stackBottom : stack > the->stackTop, 0))
        fxOverflow(the, count, C_NULL, 0);
}

#undef mxOverflow
#define mxOverflow(COUNT) (mxMeterOne(), xs_inline_overflow(the, COUNT))

/* Of xsMemory.c: a slot, with a collection of garbage when none is free. */
static inline __attribute__((always_inline)) txSlot *xs_inline_new_slot(txMachine *the)
{
    txSlot *slot = the->freeHeap;

    if (__builtin_expect(slot == C_NULL, 0))
        return fxNewSlot(the);
    the->freeHeap = slot->next;
    slot->next = C_NULL;
    slot->ID = XS_NO_ID;
    slot->flag = XS_NO_FLAG;
    slot->dummy = 0;
    the->currentHeapCount++;
    if (the->peakHeapCount < the->currentHeapCount)
        the->peakHeapCount = the->currentHeapCount;
    return slot;
}

#define fxNewSlot(THE) xs_inline_new_slot(THE)

#endif
