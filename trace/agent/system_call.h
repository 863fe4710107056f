/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TRACE_AGENT_SYSTEM_CALL_H
#define GASPIPE_TRACE_AGENT_SYSTEM_CALL_H

/*
 * System calls without the C library: what runs inside of traced functions may be inside of the C
 * library's locks too, and must leave errno alone. The result is the kernel's: -errno on failure.
 */
static inline long system_call(long number, long a, long b, long c, long d)
{
    register long fourth __asm__("r10") = d;
    long result;

    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(fourth)
                     : "rcx", "r11", "memory");
    return result;
}

#endif
