/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_COUNTER_QEMU_GUEST_FOLLOW_H
#define GASPIPE_COUNTER_QEMU_GUEST_FOLLOW_H

#include <stdint.h>

/*
 * QEMU hands a guest's execve(2) to the host, whose kernel would run the new
 * program without QEMU, uncounted. This does the execve in the guest's place,
 * of QEMU with the same options and the new program.
 *
 * QEMU must have been started as supervisor/process/guest.c does: `-0 NAME` last before
 * the program, and the program by the path of a descriptor.
 */

/*
 * All three are addresses in the guest. Returns only when this is not for QEMU
 * to run, or not possible: then the guest's own execve goes on, and either
 * fails as it should or runs the program uncounted.
 */
void follow_execve(uint64_t path, uint64_t arguments, uint64_t environment);

#endif
