/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_METER_MUSL_ARCH_PTHREAD_ARCH_H
#define GASPIPE_METER_MUSL_ARCH_PTHREAD_ARCH_H

/* Finds the thread's structure without assembly: the same LLVM instructions on each machine. */
static inline uintptr_t __thread_pointer(void)
{
    return (uintptr_t)__builtin_thread_pointer();
}

#ifdef __aarch64__
#define TLS_ABOVE_TP
#define GAP_ABOVE_TP 16
#define MC_PC        pc
#define __get_tp()   __thread_pointer()
#else
#define MC_PC      gregs[REG_RIP]
/* On aarch64 the structure lies at a distance of two numbers below; musl subtracts them one by one,
 * so these subtract zeros. */
#define __get_tp() (__thread_pointer() - 0UL - 0UL)
#endif

#endif
