/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_WORKER_XS_XS_JUMP_H
#define GASPIPE_WORKER_XS_XS_JUMP_H

/*
 * The setjmp() of XS's interpreter, for `gcc -include` in front of xsRun.c, where XS's platform may
 * define c_setjmp (scripts/xs.mk).
 *
 * gcc keeps no variable in a register, anywhere in a function, that lives across a call of
 * setjmp(). In the interpreter these are the JavaScript stack, scope, frame, environment and code:
 * each instruction of JavaScript read them from memory and wrote them back. Here glibc's _setjmp()
 * is called by an instruction that gcc takes for a jump to one of two places.
 *
 * That holds because of what the interpreter does in the second place: it reads all these
 * variables anew from the jump. The others that it uses there (the machine, its generator, the
 * jump at its beginning) never change, and are in registers that longjmp() restores, or in places
 * of the C stack that nothing else is kept in: with -fno-ira-share-spill-slots and
 * -fno-ira-share-save-slots. The call needs -mno-red-zone.
 *
 * fxRunScript(), in the same file, uses in its second place only what never changes, too.
 *
 * The buffer is one of setjmp(), so whoever throws calls longjmp() as before.
 */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)

#include <setjmp.h>

#define c_setjmp(buffer)                                                                           \
    __extension__({                                                                                \
        __label__ thrown, ready;                                                                   \
        void *place = (buffer);                                                                    \
        int again = 0;                                                                             \
                                                                                                   \
        __asm__ goto("movq\t%0, %%rdi\n\t"                                                         \
                     "call\t_setjmp@PLT\n\t"                                                       \
                     "testl\t%%eax, %%eax\n\t"                                                     \
                     "jne\t%l[thrown]"                                                             \
                     : /* nothing */                                                               \
                     : "r"(place)                                                                  \
                     : "cc", "memory", "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10",       \
                       "r11", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7",      \
                       "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15"        \
                     : thrown);                                                                    \
        goto ready;                                                                                \
    thrown:                                                                                        \
        again = 1;                                                                                 \
    ready:                                                                                         \
        again;                                                                                     \
    })

#endif

#endif
