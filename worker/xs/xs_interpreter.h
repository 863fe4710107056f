/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_WORKER_XS_XS_INTERPRETER_H
#define GASPIPE_WORKER_XS_XS_INTERPRETER_H

/*
 * Faster forms of what XS does most, for `gcc -include` in front of its files (scripts/xs.mk):
 * small functions inline for many of them; with XS_INTERPRETER defined, for xsRun.c, also its
 * setjmp() and the jumps between instructions of JavaScript.
 */

/* ---- setjmp() ---- */

/*
 * gcc keeps no variable in a register, anywhere in a function, that lives across a call of
 * setjmp(). In the interpreter these are the JavaScript stack, scope, frame, environment and code:
 * each instruction read them from memory and wrote them back. Here an instruction that gcc takes
 * for a jump to one of two places calls glibc's _setjmp(), so gcc keeps its registers.
 *
 * The hazard: after longjmp() registers hold what they held at the call, not what they held at the
 * throw. It does no harm, because in the second place the interpreter reads all these variables
 * again from the jump. The others that it uses there (the machine, its generator, the jump at its
 * beginning) never change, and are in registers that longjmp() restores, or in places of the C
 * stack that hold nothing else: -fno-ira-share-spill-slots and -fno-ira-share-save-slots see to
 * that. The call needs -mno-red-zone. fxRunScript(), in the same file, also uses only what never
 * changes.
 *
 * The buffer is one of setjmp(), so longjmp() is called as before.
 */
#ifdef XS_INTERPRETER
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

/* ---- small functions ---- */

/*
 * Under QEMU the return from a function costs as much as many instructions: it is an indirect jump,
 * and QEMU has to look up its target. Each function here does what XS's own does, and calls that
 * one when there is something to report.
 */
#include <xsAll.h>

/* Of xsAPI.c: whether the stack has room for `count` slots more (negative) or less. */
static inline __attribute__((always_inline)) void xs_inline_overflow(txMachine *the,
                                                                     txInteger count)
{
    const txSlot *stack = the->stack + count;

    if (__builtin_expect(count < 0 ? stack < the->stackBottom : stack > the->stackTop, 0))
        fxOverflow(the, count, C_NULL, 0);
}

#undef mxOverflow
#define mxOverflow(COUNT) (mxMeterOne(), xs_inline_overflow(the, COUNT))

/* Of xsMemory.c: a slot, with a collection of garbage when none is free. */
static inline __attribute__((always_inline)) txSlot *xs_inline_new_slot(txMachine *the)
{
    txSlot *slot = the->freeHeap;

    if (__builtin_expect(slot == C_NULL, 0))
        return fxNewSlot(the);
    the->freeHeap = slot->next;
    slot->next = C_NULL;
    slot->ID = XS_NO_ID;
    slot->flag = XS_NO_FLAG;
    slot->dummy = 0;
    the->currentHeapCount++;
    if (the->peakHeapCount < the->currentHeapCount)
        the->peakHeapCount = the->currentHeapCount;
    return slot;
}

#define fxNewSlot(THE) xs_inline_new_slot(THE)

/* ---- jumps between instructions ---- */

/*
 * Each instruction of JavaScript ends with a jump to the next one,
 *
 *     goto *bytes[byte];
 *
 * for which QEMU has to look up the target. Here the instructions that mostly follow are compared
 * with first, and reached by a jump that QEMU knows:
 *
 *     goto *({ if (byte == XS_CODE_POP) goto XS_CODE_POP; bytes; })[byte];
 *
 * xs_next.h lists these by line of xsRun.c. With another version of XS the list would be wrong,
 * which is slower and otherwise the same.
 */
#ifdef XS_INTERPRETER
#include "worker/xs/xs_next.h"

#define XS_NEXT_IF(CODE)                                                                           \
    if (byte == XS_CODE_##CODE)                                                                    \
        goto XS_CODE_##CODE;
#define XS_NEXT_1(FIRST)         ~, __extension__({ XS_NEXT_IF(FIRST) bytes; })
#define XS_NEXT_2(FIRST, SECOND) ~, __extension__({ XS_NEXT_IF(FIRST) XS_NEXT_IF(SECOND) bytes; })

/* The second of XS_NEXT_1634, when xs_next.h defines that, else `bytes`. */
#define XS_NEXT_SECOND(FIRST, SECOND, ...) SECOND
#define XS_NEXT_OR(...)                    XS_NEXT_SECOND(__VA_ARGS__)
#define XS_NEXT_NAME(LINE)                 XS_NEXT_LINE_##LINE
#define XS_NEXT_AT(LINE)                   XS_NEXT_NAME(LINE)
#define bytes                              XS_NEXT_OR(XS_NEXT_AT(__LINE__), bytes, )

/* Asked at each new line of JavaScript; only a profile wants to know (xs_profile.c). */
extern _Bool xs_profile_running;
#define fxIsReadable(THE) (__builtin_expect(xs_profile_running, 0) && fxIsReadable(THE))

/* A beginning function's variables are cleared so: a few slots, for which a call costs more. */
static inline __attribute__((always_inline)) void xs_interpreter_clear(txSlot *slot, size_t size)
{
    const txSlot *end = slot + size / sizeof *slot;

    for (; slot < end; slot++) {
        *slot = (txSlot){0};
        __asm__("" : "+r"(slot) : : "memory"); /* no call of memset() again */
    }
}

#undef c_memset
#define c_memset(SLOT, ZERO, SIZE) xs_interpreter_clear(SLOT, SIZE)
#endif

#endif
