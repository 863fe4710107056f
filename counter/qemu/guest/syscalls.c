/* SPDX-License-Identifier: Apache-2.0 */
#include "counter/qemu/guest/syscalls.h"

#include <stddef.h>
#include <sys/syscall.h>

static const unsigned char directions[] = {
    [SYS_read] = SYSCALL_READS,
    [SYS_pread64] = SYSCALL_READS,
    [SYS_readv] = SYSCALL_READS,
    [SYS_preadv] = SYSCALL_READS,
    [SYS_preadv2] = SYSCALL_READS,
    [SYS_recvfrom] = SYSCALL_READS,
    [SYS_recvmsg] = SYSCALL_READS,
    [SYS_getrandom] = SYSCALL_READS,
    [SYS_getdents64] = SYSCALL_READS,
    [SYS_write] = SYSCALL_WRITES,
    [SYS_pwrite64] = SYSCALL_WRITES,
    [SYS_writev] = SYSCALL_WRITES,
    [SYS_pwritev] = SYSCALL_WRITES,
    [SYS_pwritev2] = SYSCALL_WRITES,
    [SYS_sendto] = SYSCALL_WRITES,
    [SYS_sendmsg] = SYSCALL_WRITES,
    [SYS_sendfile] = SYSCALL_READS_AND_WRITES,
    [SYS_copy_file_range] = SYSCALL_READS_AND_WRITES,
    [SYS_splice] = SYSCALL_READS_AND_WRITES,
    [SYS_tee] = SYSCALL_READS_AND_WRITES,
    [SYS_vmsplice] = SYSCALL_WRITES,
};

enum syscall_direction syscall_direction(int64_t number)
{
    if (number < 0 || (size_t)number >= sizeof directions)
        return SYSCALL_CARRIES_NOTHING;
    return (enum syscall_direction)directions[number];
}
