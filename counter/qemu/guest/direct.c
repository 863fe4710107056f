/* SPDX-License-Identifier: Apache-2.0 */
#include "counter/qemu/guest/direct.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include "counter/qemu/guest/guest_memory.h"

static bool allowed, has_code;

void direct_allow(bool is_allowed)
{
    allowed = is_allowed;
}

#ifdef __x86_64__

/* <asm/hwcap2.h>: a program may read and write FS itself, as Linux lets it from 5.9 on. */
#define HWCAP2_FSGSBASE 2

/* Addresses of the guest have to be the host's. */
static bool can_run(void)
{
    return allowed && guest_memory_host_address(0) == 0 &&
           (getauxval(AT_HWCAP2) & HWCAP2_FSGSBASE) != 0;
}

/* Of the guest's code QEMU only reads, and maps it for that. */
int direct_take_code(const struct gasmark_code *code)
{
    if (!can_run())
        return ENOTSUP;
    if (mprotect((void *)code->start, code->size, PROT_READ | PROT_EXEC) != 0)
        return errno;
    has_code = true;
    return 0;
}

/*
 * Keeps what a function has to keep, and QEMU's FS, on QEMU's stack, with a place to go on at, and
 * takes the same from the guest's. FS is last changed here and first changed back: compiled C may
 * use it anywhere.
 */
void direct_switch(struct gasmark_direct *direct);
__asm__(".text\n"
        ".type direct_switch, @function\n"
        "direct_switch:\n"
        /* QEMU's side */
        GASMARK_PUSH "rdfsbase %rax\n"
        "push %rax\n"
        "lea 1f(%rip), %rax\n"
        "push %rax\n"
        "mov %rsp, 16(%rdi)\n"
        /* the guest's */
        "mov 8(%rdi), %rax\n"
        "wrfsbase %rax\n"
        "mov (%rdi), %rsp\n"
        /* where the guest goes on */
        GASMARK_POP_AND_RETURN
        /* where QEMU does */
        "1: pop %rax\n"
        "wrfsbase %rax\n"
        /* back to who called */
        GASMARK_POP_AND_RETURN ".size direct_switch, . - direct_switch\n");

_Static_assert(offsetof(struct gasmark_direct, thread) == 8 &&
                   offsetof(struct gasmark_direct, back) == 16,
               "as direct_switch() has it");

/* QEMU's handlers of signals would find the guest's FS. */
void direct_run(uint64_t buffer, uint64_t size)
{
    struct gasmark_direct *direct = (struct gasmark_direct *)buffer, copy = {0};
    sigset_t all, before;

    if (!has_code || size < sizeof *direct || !guest_memory_read(buffer, &copy, sizeof copy) ||
        copy.wanted != 1 || !guest_memory_write(buffer, &copy, sizeof copy))
        return;
    sigfillset(&all);
    if (pthread_sigmask(SIG_SETMASK, &all, &before) != 0)
        return;
    direct->wanted = 0;
    direct_switch(direct);
    direct->back = 0;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
}

#else

int direct_take_code(const struct gasmark_code *code)
{
    (void)code;
    return ENOTSUP;
}

void direct_run(uint64_t buffer, uint64_t size)
{
    (void)buffer;
    (void)size;
}

#endif
