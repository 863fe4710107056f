/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_COUNTER_QEMU_GUEST_RANDOMNESS_H
#define GASPIPE_COUNTER_QEMU_GUEST_RANDOMNESS_H

#include <stdint.h>

/*
 * getrandom(2), and read(2) of /dev/random and /dev/urandom, give the guest the same
 * bytes in every run: those that the kernel wrote are written over. Never for a program
 * whose secrets matter.
 */

/* When any syscall begins, by its number and arguments, on the thread that makes it. */
void randomness_asked(int64_t number, uint64_t a1, uint64_t a2);

/* When it has ended, on the same thread, with its result. */
void randomness_given(int64_t result);

#endif
