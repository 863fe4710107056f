/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_COUNTER_QEMU_GUEST_SYSCALLS_H
#define GASPIPE_COUNTER_QEMU_GUEST_SYSCALLS_H

#include <stdint.h>

/* Which way a syscall's result, where it is a number of bytes, has carried them. */
enum syscall_direction {
    SYSCALL_CARRIES_NOTHING = 0,
    SYSCALL_READS = 1,
    SYSCALL_WRITES = 2,
    SYSCALL_READS_AND_WRITES = 3, /* from one descriptor to another */
};

/* By the number of the syscall on x86-64; any number may be asked for. */
enum syscall_direction syscall_direction(int64_t number);

#endif
