/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_COUNTER_TALLY_H
#define GASPIPE_COUNTER_TALLY_H

#include <stdbool.h>
#include <stdint.h>

#include "counter/qemu_plugin_api.h"

/*
 * What each guest thread has done since it began.
 *
 * While the guest has one thread, translated code adds to one fixed word,
 * which costs least. QEMU adds without atomic operations and cannot address a
 * word for each thread, so from the moment when a second thread comes a block
 * calls a function instead, which adds to its own thread's word. QEMU itself
 * discards all translated code at that moment (it has to generate code that is
 * safe for parallel execution), so no old block goes on adding to the one word.
 *
 * A thread is named by QEMU's vCPU index, 0 for the first. Indices are used
 * again after a thread has ended.
 */

#define TALLY_THREADS_MAX 4096

struct tally {
    uint64_t instructions;
    uint64_t bytes_read;
    uint64_t bytes_written;
    uint64_t syscalls;
};

/* To be called for each thread before it executes anything. False: too many threads. */
bool tally_thread_began(unsigned thread);

/* Makes `instructions` count each time the block is entered; at translation only. */
void tally_count_block(struct qemu_plugin_tb *tb, uint64_t instructions);

/* To be called by the thread itself. */
void tally_add_syscall(unsigned thread);
void tally_add_bytes(unsigned thread, uint64_t read, uint64_t written);

/* What one thread has done so far. */
struct tally tally_of_thread(unsigned thread);

/* What all threads have done so far, those that ended included. */
struct tally tally_of_process(void);

struct tally tally_sum(struct tally a, struct tally b);
struct tally tally_difference(struct tally a, struct tally b);

#endif
