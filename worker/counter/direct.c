/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/counter/direct.h"

#include "counter/gasmark.h"

#ifdef __x86_64__

#include <link.h>
#include <stddef.h>
#include <stdint.h>

/* The names and places are known to the assembler below. */
__attribute__((used)) struct gasmark_direct direct_state;
_Static_assert(offsetof(struct gasmark_direct, stack) == 0 &&
                   offsetof(struct gasmark_direct, thread) == 8 &&
                   offsetof(struct gasmark_direct, back) == 16 &&
                   offsetof(struct gasmark_direct, wanted) == 24 &&
                   sizeof(struct gasmark_direct) == 32 && GASMARK_DIRECT == 16,
               "as in direct_enter()");
static bool prepared;

static int tell_code(struct dl_phdr_info *object, size_t size, void *context)
{
    const uint64_t page = 4096;

    (void)size;
    (void)context;
    for (size_t i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &object->dlpi_phdr[i];
        const uint64_t start = (object->dlpi_addr + part->p_vaddr) & ~(page - 1);
        const uint64_t end = object->dlpi_addr + part->p_vaddr + part->p_memsz;
        struct gasmark_code code = {start, (end - start + page - 1) & ~(page - 1)};

        if (part->p_type != PT_LOAD || (part->p_flags & PF_X) == 0)
            continue;
        gasmark_call(GASMARK_CODE, &code, sizeof code);
        if (code.start != 0)
            return -1;
    }
    return 0;
}

void direct_prepare(void)
{
    prepared = gasmark_present() == 1 && dl_iterate_phdr(tell_code, NULL) == 0;
}

/*
 * Both leave on the stack what a function has to keep, and the address behind their call. The
 * processor, or QEMU again, takes it from there: so each returns once, in the other's hands.
 */
void direct_enter(void);
void direct_leave(void);
__asm__(".text\n"
        ".type direct_enter, @function\n"
        "direct_enter:\n"
        /* what goes over */
        GASMARK_PUSH
        /* where that lies */
        "lea direct_state(%rip), %rsi\n"
        "mov %rsp, (%rsi)\n"
        "mov %fs:0, %rax\n"
        "mov %rax, 8(%rsi)\n"
        "movq $1, 24(%rsi)\n"
        "mov $32, %edx\n"
        "mov $0xcafebace, %edi\n" /* GASMARK_DIRECT */
        "xor %eax, %eax\n"        /* read(2) */
        "syscall\n"
        "mov direct_state(%rip), %rsp\n"
        /* what has come back */
        GASMARK_POP_AND_RETURN
        /* the other way */
        ".size direct_enter, . - direct_enter\n"
        ".type direct_leave, @function\n"
        "direct_leave:\n"
        /* what goes back */
        GASMARK_PUSH
        /* where that lies, and where QEMU's side does */
        "mov %rsp, direct_state(%rip)\n"
        "mov direct_state+16(%rip), %rsp\n"
        "ret\n"
        ".size direct_leave, . - direct_leave\n");

void direct_begin(void)
{
    if (prepared && !direct_is_on())
        direct_enter();
}

void direct_end(void)
{
    if (direct_is_on())
        direct_leave();
}

bool direct_is_on(void)
{
    return direct_state.back != 0;
}

#else /* which has no counter */

void direct_prepare(void)
{
}

void direct_begin(void)
{
}

void direct_end(void)
{
}

bool direct_is_on(void)
{
    return false;
}

#endif
