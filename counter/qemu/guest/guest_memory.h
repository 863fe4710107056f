/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_COUNTER_QEMU_GUEST_GUEST_MEMORY_H
#define GASPIPE_COUNTER_QEMU_GUEST_GUEST_MEMORY_H

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
 * takes a microsecond. That wants to be told of whatever may take the page away: before a syscall
 * of the guest that may change its mappings, and before it has a second thread, which may do so
 * at any moment.
 */
void guest_memory_may_change(void);
void guest_memory_is_shared(void);
bool guest_memory_may_be_shared(void);

bool guest_memory_read(uint64_t guest_address, void *to, size_t length);
bool guest_memory_write(uint64_t guest_address, const void *from, size_t length);

#endif
