/* SPDX-License-Identifier: Apache-2.0 */
#include "counter/guest_memory.h"

#include <sys/uio.h>
#include <unistd.h>

static uint64_t guest_base;

void guest_memory_learn(const struct qemu_plugin_insn *insn)
{
    guest_base = (uintptr_t)qemu_plugin_insn_haddr(insn) - qemu_plugin_insn_vaddr(insn);
}

uint64_t guest_memory_host_address(uint64_t guest_address)
{
    return guest_address + guest_base;
}

/* The kernel copies, and answers EFAULT where a plain access would be a SIGSEGV inside QEMU. */
bool guest_memory_read(uint64_t guest_address, void *to, size_t length)
{
    struct iovec local = {to, length};
    struct iovec remote = {(void *)(uintptr_t)guest_memory_host_address(guest_address), length};

    return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == (ssize_t)length;
}

bool guest_memory_write(uint64_t guest_address, const void *from, size_t length)
{
    struct iovec local = {(void *)(uintptr_t)from, length};
    struct iovec remote = {(void *)(uintptr_t)guest_memory_host_address(guest_address), length};

    return process_vm_writev(getpid(), &local, 1, &remote, 1, 0) == (ssize_t)length;
}
