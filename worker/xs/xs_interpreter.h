/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_WORKER_XS_XS_INTERPRETER_H
#define GASPIPE_WORKER_XS_XS_INTERPRETER_H

/*
 * XS's interpreter with fewer indirect jumps, for `gcc -include` in front of xsRun.c, behind
 * xs_inline.h (scripts/xs.mk). Each instruction of JavaScript ends with a jump to the next one,
 *
 *     goto *bytes[byte];
 *
 * which under QEMU means a search for where that is. Here the instructions that mostly follow are
 * compared with first, and reached by a jump that QEMU knows:
 *
 *     goto *({ if (byte == XS_CODE_POP) goto XS_CODE_POP; bytes; })[byte];
 *
 * xs_next.h says which these are, by the line of XS's source. With another version of XS it would
 * say something else than what mostly follows, which is slower and otherwise the same.
 */
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
