/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_COUNTER_QEMU_GUEST_ADDRESS_SPACE_H
#define GASPIPE_COUNTER_QEMU_GUEST_ADDRESS_SPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "counter/qemu/emulator/qemu_plugin_api.h"

/* Reads and writes guest memory, which lies at a constant distance (QEMU's guest_base) in QEMU's
 * own. A guest may pass any pointer: for a bad one these functions return false and nothing
 * crashes. */

/* The guest's mappings end below this host address; QEMU's own lie above. */
#define GUEST_MEMORY_END ((uintptr_t)0x500000000000)

/* Learns the distance from an instruction that is being translated. */
void guest_memory_learn(const struct qemu_plugin_insn *insn);

/* Repeated writes to one page are plain copies, which save a system call of about a microsecond. So
 * this module must know when the page may vanish. Call this before a system call of the guest that
 * may change its mappings. Also call it before the guest's second thread begins, which may do so at
 * any time. */
void guest_memory_may_change(void);
void guest_memory_is_shared(void);

bool guest_memory_read(uint64_t guest_address, void *to, size_t length);
bool guest_memory_write(uint64_t guest_address, const void *from, size_t length);

/* The files that the process has mapped, from /proc/self/maps. All zeros: none. */
struct guest_file {
    uint64_t start, end; /* addresses of the host */
    uint64_t offset;     /* in the file */
    char *path;          /* owned */
};

struct guest_files {
    struct guest_file *file; /* in order of addresses */
    size_t count;
};

/* Reads the list; if out of memory, some are missing. */
void guest_files_read(struct guest_files *files);

/* Returns the file that is mapped at a guest address, or NULL. *offset receives the byte's offset
 * in the file. */
const struct guest_file *guest_files_find(const struct guest_files *files, uint64_t guest_address,
                                          uint64_t *offset);

/* Returns true if a file is mapped anywhere in the range of guest addresses. */
bool guest_files_touch(const struct guest_files *files, uint64_t start, uint64_t size);

void guest_files_free(struct guest_files *files);

/*
 * Chooses the addresses of the guest's mappings if the guest gives none.
 *
 * QEMU 7.2 searches upwards from the end of the last such mapping and never
 * returns to lower addresses. Its page tables for used addresses stay: 37 MB
 * per cycle of reserving and releasing 6 GB. It searches by calling the host's
 * mmap(2) with that end as a hint. The counter answers that call with the
 * lowest released range that fits, else with the space after all mappings:
 *
 *     FIRST_ADDRESS                                     end_of_all
 *
 *  mapped
 *  released
 *  mapped
 *  released
 *  mapped
 *   free ...
 *               ^ reused first                            ^ else
 *
 * So QEMU's memory stays flat. The addresses also depend on the guest alone;
 * Linux would choose them by its own layout.
 *
 * QEMU since 9.0 passes most of the guest's mmap(2) calls to Linux, without an
 * address if the guest gave none. The counter puts those at the same places.
 */

/* Starts. kernel_does: this QEMU lets Linux choose the address. Returns false if this QEMU does not
 * call mmap(2) for its search. */
bool address_space_manage(bool kernel_does);

/* Call this when the guest executes its first block. Space that QEMU released earlier, while it
 * loaded the program, stays free for the guest's heap (brk(2)). */
void address_space_guest_runs(void);

#endif
