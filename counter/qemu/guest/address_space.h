/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_COUNTER_QEMU_GUEST_ADDRESS_SPACE_H
#define GASPIPE_COUNTER_QEMU_GUEST_ADDRESS_SPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "counter/qemu/emulator/qemu_plugin_api.h"

/*
 * The guest's memory as it lies in QEMU's: at a constant distance, QEMU's
 * guest_base. A guest may hand over any pointer; a bad one makes these return
 * false and harms nobody.
 */

/* The guest's mappings lie below, those of QEMU itself above; addresses of the host. */
#define GUEST_MEMORY_END ((uintptr_t)0x500000000000)

/* Learns the distance from any instruction that is being translated. */
void guest_memory_learn(const struct qemu_plugin_insn *insn);

/* Where an address of the guest lies in QEMU's memory. */
uint64_t guest_memory_host_address(uint64_t guest_address);

/*
 * What is written again and again to one page is copied there without asking the system, which
 * takes a microsecond. That wants to be told of whatever may take the page away: before a system
 * call of the guest that may change its mappings, and before it has a second thread, which may do
 * so at any moment.
 */
void guest_memory_may_change(void);
void guest_memory_is_shared(void);
bool guest_memory_may_be_shared(void);

bool guest_memory_read(uint64_t guest_address, void *to, size_t length);
bool guest_memory_write(uint64_t guest_address, const void *from, size_t length);

/* Which files the process has mapped, as /proc/self/maps says. All zeros: none. */
struct guest_file {
    uint64_t start, end; /* addresses of the host */
    uint64_t offset;     /* in the file */
    char *path;          /* owned */
};

struct guest_files {
    struct guest_file *file; /* in order of addresses */
    size_t count;
};

/* Reads them; without memory there are fewer. */
void guest_files_read(struct guest_files *files);

/* What is mapped at an address of the guest, or NULL. *offset: of that byte in the file. */
const struct guest_file *guest_files_find(const struct guest_files *files, uint64_t guest_address,
                                          uint64_t *offset);

/* Whether a file is mapped anywhere in the range, of addresses of the guest. */
bool guest_files_touch(const struct guest_files *files, uint64_t start, uint64_t size);

void guest_files_free(struct guest_files *files);

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
 * Linux would choose by its own layout.
 *
 * QEMU from 9.0 on hands most of the guest's mmap(2) on to Linux, with no
 * address where the guest gave none. This puts those at the same places.
 */

/*
 * Begins to; kernel_does: QEMU is of the later sort. False when this QEMU does not
 * call Linux for it.
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
