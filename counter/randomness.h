/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_COUNTER_RANDOMNESS_H
#define GASPIPE_COUNTER_RANDOMNESS_H

#include <stdint.h>

/*
 * getrandom(2) gives the guest the same bytes in every run: those that the
 * kernel wrote are written over. Never for a program whose secrets matter.
 */

/* When the syscall begins and when it has ended, on the thread that makes it. */
void randomness_asked(uint64_t buffer);
void randomness_given(int64_t length);

#endif
