/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TRACE_AGENT_SYSTEM_CALL_H
#define GASPIPE_TRACE_AGENT_SYSTEM_CALL_H

#include <stddef.h>
#include <sys/mman.h>
#include <sys/syscall.h>

/*
 * System calls without the C library, whose locks a traced function may hold and whose errno it may
 * need. The result is Linux's: -errno on failure.
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

/* Private memory, all zeros; NULL if out of memory. */
static inline void *system_map(unsigned long size)
{
    register long flags __asm__("r10") = MAP_PRIVATE | MAP_ANONYMOUS;
    register long fd __asm__("r8") = -1;
    register long offset __asm__("r9") = 0;
    long result;

    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"((long)SYS_mmap), "D"(0L), "S"(size), "d"((long)(PROT_READ | PROT_WRITE)),
                       "r"(flags), "r"(fd), "r"(offset)
                     : "rcx", "r11", "memory");
    return result < 0 && result > -4096 ? NULL : (void *)result;
}

#endif
