/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_COUNTER_QEMU_GUEST_KEPT_MEMORY_H
#define GASPIPE_COUNTER_QEMU_GUEST_KEPT_MEMORY_H

#include <stdint.h>

/*
 * What all of the guest's memory is at one moment, kept so that it can be made that again: what the
 * guest does in between then leaves no trace in it, but QEMU has translated its code. For a guest
 * of one thread, under QEMU 7.2.
 */

/* Keeps it, in the place of what was kept before. 0, or an errno. */
int kept_memory_keep(void);

/* Of the guest's addresses. */
struct kept_memory_range {
    uint64_t start, size;
};

/*
 * 0: the guest's memory is what it was, and so are the places where its next mappings go; nothing
 * is kept any more. EEXIST: nothing was done, as the guest has mapped `more` since, which it has to
 * unmap first. Any other errno: nothing was done, and cannot be. The guest's heap must end where it
 * did (brk(2)).
 */
int kept_memory_restore(struct kept_memory_range *more);

/* To be called when brk(2) has returned that. */
void kept_memory_heap_ends(uint64_t address);

#endif
