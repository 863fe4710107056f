/* SPDX-License-Identifier: Apache-2.0 */
#include "counter/qemu/guest/guest_memory.h"

#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

enum { PAGE_BITS = 12 };

static uint64_t guest_base;
static uint64_t proven_page; /* of the host, by its number; can be written to. 0: none is known */
static bool is_shared;

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

void guest_memory_may_change(void)
{
    proven_page = 0;
}

void guest_memory_is_shared(void)
{
    proven_page = 0;
    is_shared = true;
}

bool guest_memory_may_be_shared(void)
{
    return is_shared;
}

/* The page that all of it lies in, or 0. */
static uint64_t page_of(uint64_t address, size_t length)
{
    uint64_t page = address >> PAGE_BITS;

    return (address + length - 1) >> PAGE_BITS == page ? page : 0;
}

bool guest_memory_write(uint64_t guest_address, const void *from, size_t length)
{
    uint64_t address = guest_memory_host_address(guest_address);
    uint64_t page = page_of(address, length);
    struct iovec local = {(void *)(uintptr_t)from, length};
    struct iovec remote = {(void *)(uintptr_t)address, length};

    if (page != 0 && page == proven_page) {
        memcpy(remote.iov_base, from, length);
        return true;
    }
    if (process_vm_writev(getpid(), &local, 1, &remote, 1, 0) != (ssize_t)length)
        return false;
    if (!is_shared)
        proven_page = page;
    return true;
}
