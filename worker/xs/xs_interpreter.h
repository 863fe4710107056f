/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_WORKER_XS_XS_INTERPRETER_H
#define GASPIPE_WORKER_XS_XS_INTERPRETER_H

/*
 * Faster forms of XS's most frequent operations, included with `gcc -include` before its
 * files (scripts/xs.mk). Small functions are inline in many files. With XS_INTERPRETER
 * defined, for xsRun.c, also setjmp() and the jumps between JavaScript instructions.
 */

/* ---- setjmp() ---- */

/*
 * Keeps variables in registers across setjmp(), unlike gcc, which then keeps none in the
 * whole function. In the interpreter these are the JavaScript stack, scope, frame,
 * environment and code; each instruction would read them from memory and write them back.
 *
 *     asm goto ---+--- first return ----> run instructions ... throw
 *                 |                                              |
 *                 +--- second return <--- longjmp() <------------'
 *
 * gcc sees an instruction with two targets, which calls glibc's _setjmp(). The hazard: after
 * longjmp() registers have their values from the call of setjmp(), not those at the throw.
 * It is harmless here because:
 *
 *     - the second target first reads the five variables from the jump buffer's structure;
 *     - the other variables used there (the machine, its generator, the first jump) never
 *       change. They are in registers that longjmp() restores, or in stack slots of their own,
 *       because of -fno-ira-share-spill-slots and -fno-ira-share-save-slots.
 *
 * fxRunScript(), in the same file, also uses only variables that never change. The call
 * needs -mno-red-zone. The buffer is setjmp()'s, so longjmp() works unchanged.
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
 * A function's return is an indirect jump, which costs many instructions under QEMU, because
 * it looks up the target. Each function here has the fast path of XS's own, and calls that
 * one for the rest.
 */
#include <xsAll.h>

/* From xsAPI.c: checks that the stack has space for `count` slots more (negative) or less. */
static inline __attribute__((always_inline)) void xs_inline_overflow(txMachine *the,
                                                                     txInteger count)
{
    const txSlot *stack = the->stack + count;

    if (__builtin_expect(count < 0 ? stack < the->stackBottom : stack > the->stackTop, 0))
        fxOverflow(the, count, C_NULL, 0);
}

#undef mxOverflow
#define mxOverflow(COUNT) (mxMeterOne(), xs_inline_overflow(the, COUNT))

/* From xsMemory.c: allocates a slot, and collects garbage if none is free. */
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
 * Each JavaScript instruction ends with an indirect jump to the next, goto *bytes[byte],
 * whose target QEMU must look up. Here it is first compared with the most frequent
 * successors, which a direct jump reaches:
 *
 *     goto *({ if (byte == XS_CODE_POP) goto XS_CODE_POP; bytes; })[byte];
 *
 * xs_next.h lists successors by line of xsRun.c. A list for another version of XS would only
 * be slower.
 */
#ifdef XS_INTERPRETER
#include "worker/xs/xs_next.h"

#define XS_NEXT_IF(CODE)                                                                           \
    if (byte == XS_CODE_##CODE)                                                                    \
        goto XS_CODE_##CODE;
#define XS_NEXT_1(FIRST)         ~, __extension__({ XS_NEXT_IF(FIRST) bytes; })
#define XS_NEXT_2(FIRST, SECOND) ~, __extension__({ XS_NEXT_IF(FIRST) XS_NEXT_IF(SECOND) bytes; })

/* The second argument of XS_NEXT_1634 if xs_next.h defines that, else `bytes`. */
#define XS_NEXT_SECOND(FIRST, SECOND, ...) SECOND
#define XS_NEXT_OR(...)                    XS_NEXT_SECOND(__VA_ARGS__)
#define XS_NEXT_NAME(LINE)                 XS_NEXT_LINE_##LINE
#define XS_NEXT_AT(LINE)                   XS_NEXT_NAME(LINE)
#define bytes                              XS_NEXT_OR(XS_NEXT_AT(__LINE__), bytes, )

/* Checked at each new line of JavaScript; set only during profiles (xs_profile.c). */
extern _Bool xs_profile_running;
#define fxIsReadable(THE) (__builtin_expect(xs_profile_running, 0) && fxIsReadable(THE))

/* Clears a starting function's variables, a few slots, without a call. */
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
