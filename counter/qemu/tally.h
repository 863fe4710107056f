/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_COUNTER_QEMU_TALLY_H
#define GASPIPE_COUNTER_QEMU_TALLY_H

#include <stdbool.h>
#include <stdint.h>

#include "counter/kind.h"
#include "counter/qemu/code/insn.h"
#include "counter/qemu/emulator/host.h"
#include "counter/qemu/emulator/qemu_plugin_api.h"

/*
 * Counts what each guest thread has executed.
 *
 * Translated code adds to a counter before each sequence. It must be cheap and
 * exact with several threads, which depends on QEMU's version:
 *
 *   QEMU                      translated code adds to
 *   9.0 and later             a word per thread (host.h)
 *   8.2 and before,
 *     one guest thread        16 fixed words in turn
 *     several guest threads   calls a function, which adds to the thread's slot
 *
 * Several words, because an addition waits for the previous addition to the
 * same word. Old QEMU adds without atomic operations and cannot address a word
 * per thread; so the fixed words are safe for one thread only. When a second
 * thread is created, QEMU discards all translated code itself, because it must
 * generate code that is safe in parallel. So no old block adds to these words
 * afterwards.
 *
 * Threads are named by QEMU's vCPU index, 0 for the first. A new thread may get
 * the index of one that ended.
 */

#define TALLY_THREADS_MAX 4096

struct tally {
    uint64_t instructions; /* completed */
    uint64_t faults;       /* instructions that began and did not complete */
    uint64_t bytes_read;
    uint64_t bytes_written;
    uint64_t syscalls;
    uint64_t kinds[KIND_COUNT]; /* completed instructions by kind; all 0 unless requested */
};

/* Call this once, before all others. */
void tally_begin(void);

/* Call this for each thread before it executes anything. Returns false if there are too many. */
bool tally_thread_began(unsigned thread);

enum tally_manner {
    TALLY_PLAIN,
    /* One repeated string instruction that QEMU begins again for each iteration: it is counted
     * once, whatever the number of iterations. */
    TALLY_REPEATED,
    /* One instruction, of which tally_note_abort() must know whether it was the last to begin. */
    TALLY_RAISING,
    /* One atomic operation on memory that others see. If its operand is not aligned, QEMU leaves
     * the block and begins it again while all other threads are stopped. It is counted once and is
     * not a fault. */
    TALLY_ATOMIC,
};

/* A thread calls this before it creates another one, at least the first time. */
void tally_threads_come(void);

/* While a block is translated: registers that the sequence is counted each time before `insn`, its
 * first instruction. */
void tally_count_before(struct qemu_plugin_insn *insn, const struct insn_sequence *sequence,
                        enum tally_manner manner);

/* For aborts_watch(). Does nothing on a thread before tally_set_thread(). */
void tally_note_abort(enum abort_reason reason);

/* Sets which guest thread the calling host thread is. */
void tally_set_thread(unsigned thread);

/* The thread itself calls this. */
void tally_add_syscall(unsigned thread);
void tally_add_bytes(unsigned thread, uint64_t read, uint64_t written);

/* Sets the words that translated code adds to while there is one thread: TALLY_WORDS words, all
 * zero. Call it before anything is counted. */
#define TALLY_WORDS 16
void tally_use_words(uint64_t *words);

/* Sets KIND_COUNT words for kinds. Without this call, kinds are not counted. */
void tally_use_kind_words(uint64_t *words);

/* Passes each sequence that begins to the profile. Call it before anything is counted. */
void tally_feed_profile(void);

/* Returns what the thread did since its last flush, without the words. Only the thread itself may
 * call it. */
struct tally tally_flush(unsigned thread);

/* Flushes the calling thread; returns zeros if the thread is unknown. */
struct tally tally_flush_own(void);

/* Returns what one thread has done so far. */
struct tally tally_of_thread(unsigned thread);

/* Returns what all threads have done so far, including ended ones. */
struct tally tally_of_process(void);

struct tally tally_sum(struct tally a, struct tally b);
struct tally tally_difference(struct tally a, struct tally b);

/*
 * Frees what QEMU 7.2 keeps of each ended thread: its vCPU object, about 25 KB.
 * QEMU drops its own reference when the thread ends. But the object stays a
 * child of the container for devices without a parent:
 *
 *   /machine/unattached: device[0] -> vCPU, device[1] -> vCPU, ...
 *
 * The container holds a reference, and QEMU searches these names from the start
 * for a free one each time. The counter notes each child that QEMU inserts into
 * the container's table of properties. After the thread has ended, the counter
 * does what QEMU would: it calls the entry's release function and removes the
 * entry.
 *
 * The hazard is a concurrent change of that table. So the counter removes
 * entries when the next thread is created, where QEMU holds the lock of the
 * table. It also frees the thread's random number generator (-seed).
 *
 * QEMU 8.1 and later remove the child themselves; the counter detects that and
 * does nothing.
 */

/* Starts. Returns false if this QEMU creates its threads differently. */
bool ended_threads_reclaim(void);

/* The thread that the caller is creating gets this index. */
void ended_threads_began(unsigned thread);

/* Called on the thread itself when it is about to exit(2). */
void ended_threads_exits(unsigned thread);

#endif
