/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_METER_MUSL_ARCH_SYSCALL_ARCH_H
#define GASPIPE_METER_MUSL_ARCH_SYSCALL_ARCH_H

/* Replaces arch/MACHINE/syscall_arch.h: system calls as functions (system_call.s), because code
 * around inline assembly differs between machines. The vDSO is not used, because the time to find a
 * function in it depends on Linux's version. */
#define __SYSCALL_LL_E(x) (x)
#define __SYSCALL_LL_O(x) (x)

long __syscall0(long);
long __syscall1(long, long);
long __syscall2(long, long, long);
long __syscall3(long, long, long, long);
long __syscall4(long, long, long, long, long);
long __syscall5(long, long, long, long, long, long);
long __syscall6(long, long, long, long, long, long, long);

#define IPC_64 0

#endif
