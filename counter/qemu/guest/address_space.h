/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_COUNTER_QEMU_GUEST_ADDRESS_SPACE_H
#define GASPIPE_COUNTER_QEMU_GUEST_ADDRESS_SPACE_H

#include <stdbool.h>

/*
 * Where the guest's mappings go when it leaves that to the kernel.
 *
 * QEMU 7.2 looks for room upwards from the end of the last such mapping and
 * never comes back, and its tables for addresses that were once in use stay
 * for good: 37 MB for each cycle of 6 GB reserved and released. It looks by
 * asking the host's mmap(2) with that end as a hint. This answers with the
 * lowest range that was released and is large enough, if there is one, and
 * otherwise with the room behind all that was ever mapped. So memory stays
 * flat, and the addresses depend on the guest alone: where the hint is taken,
 * the host's kernel would choose by its own layout.
 *
 * QEMU from 9.0 on hands most of the guest's mmap(2) on to the kernel, with no
 * address where the guest gave none. This puts those at the same places.
 */

/*
 * Begins to; kernel_does: QEMU is of the later sort. False when this QEMU does not
 * call the kernel for it.
 */
bool address_space_manage(bool kernel_does);

/*
 * To be called when the guest executes its first block. What QEMU releases
 * before, while it loads the program, is kept free: it is where the guest's
 * heap grows (brk(2)).
 */
void address_space_guest_runs(void);

/* Whether all of that holds for a QEMU that does not leave it to the kernel. */
bool address_space_is_managed(void);

/*
 * Where the guest's next mappings would go: kept, and made what it was. To be called when all that
 * was mapped in between is unmapped again.
 */
void address_space_keep(void);
void address_space_restore(void);

#endif
