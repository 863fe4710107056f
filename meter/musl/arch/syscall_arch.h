/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_METER_MUSL_ARCH_SYSCALL_ARCH_H
#define GASPIPE_METER_MUSL_ARCH_SYSCALL_ARCH_H

/*
 * System calls as functions (system_call.s), in place of arch/MACHINE/syscall_arch.h: code around
 * inline assembly differs between machines. The vDSO is not used: how long finding a function in it
 * takes depends on the kernel.
 */
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
