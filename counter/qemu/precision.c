/* SPDX-License-Identifier: Apache-2.0 */
#include "counter/qemu/precision.h"

#include <elf.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "counter/qemu/guest/guest_memory.h"

static bool is_fault_signal(uint64_t signal)
{
    return signal == SIGSEGV || signal == SIGBUS || signal == SIGFPE || signal == SIGILL ||
           signal == SIGTRAP;
}

/* The kernel's struct sigaction begins with the handler; SIG_DFL is 0, SIG_IGN 1. */
static bool installs_handler(uint64_t action)
{
    uint64_t handler = 0;

    return action != 0 && guest_memory_read(action, &handler, sizeof handler) && handler > 1;
}

static bool is_writable_code(uint64_t protection)
{
    return (protection & PROT_WRITE) != 0 && (protection & PROT_EXEC) != 0;
}

static bool is_writable_code_header(const Elf64_Phdr *header)
{
    return (header->p_type == PT_LOAD || header->p_type == PT_GNU_STACK) &&
           (header->p_flags & PF_W) != 0 && (header->p_flags & PF_X) != 0;
}

static bool has_writable_code(int file)
{
    Elf64_Ehdr elf;
    Elf64_Phdr header;

    if (pread(file, &elf, sizeof elf, 0) != sizeof elf || elf.e_phentsize != sizeof header)
        return true;
    for (unsigned i = 0; i < elf.e_phnum; i++) {
        if (pread(file, &header, sizeof header, (off_t)(elf.e_phoff + i * sizeof header)) !=
            sizeof header)
            return true;
        if (is_writable_code_header(&header))
            return true;
    }
    return false;
}

bool precision_is_needed_by(const char *program)
{
    int file = open(program, O_RDONLY | O_CLOEXEC);
    bool needed = file < 0 || has_writable_code(file);

    if (file >= 0)
        close(file);
    return needed;
}

bool precision_is_needed(int64_t number, uint64_t a1, uint64_t a2, uint64_t a3)
{
    switch (number) {
    case SYS_rt_sigaction:
        return is_fault_signal(a1) && installs_handler(a2);
    case SYS_mmap:
    case SYS_mprotect:
    case SYS_pkey_mprotect:
        return is_writable_code(a3);
    default:
        return false;
    }
}
