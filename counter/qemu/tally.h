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
 * What each guest thread has done since it began.
 *
 * Where QEMU has a word for each thread (host.h), translated code adds to that. Elsewhere, while
 * the guest has one thread, it adds to fixed words, which
 * costs least. There are several, taken in turn, because an addition has to
 * wait for the one before it to the same word. QEMU adds without atomic operations and cannot
 * address a word for each thread, so from the moment when a second thread comes a block calls a
 * function instead, which adds to its own thread's word. QEMU itself discards all translated code
 * at that moment (it has to generate code that is safe for parallel execution), so no old block
 * goes on adding to those words.
 *
 * A thread is named by QEMU's vCPU index, 0 for the first. Indices are used
 * again after a thread has ended.
 */

#define TALLY_THREADS_MAX 4096

struct tally {
    uint64_t instructions; /* completed */
    uint64_t faults;       /* instructions that began and did not complete */
    uint64_t bytes_read;
    uint64_t bytes_written;
    uint64_t syscalls;
    uint64_t kinds[KIND_COUNT]; /* instructions that completed; all 0 unless asked for */
};

/* To be called once, before all others. */
void tally_begin(void);

/* To be called for each thread before it executes anything. False: too many threads. */
bool tally_thread_began(unsigned thread);

enum tally_manner {
    TALLY_PLAIN,
    /*
     * One instruction, a string instruction that repeats and that QEMU begins anew
     * for each iteration: counted once for all of them, however many there are.
     */
    TALLY_REPEATED,
    /* One instruction, and tally_note_abort() will know whether it was the last to begin. */
    TALLY_RAISING,
    /*
     * One instruction, an atomic operation on memory that others see. Where its operand is not
     * aligned, QEMU leaves the block and begins it again while all others stand still. It
     * is counted once, and that is no fault.
     */
    TALLY_ATOMIC,
};

/* To be called by a thread that is about to make another one, the first time at least. */
void tally_threads_come(void);

/*
 * Arranges, while a block is being translated, that the sequence is counted each
 * time before `insn`, its first instruction, begins.
 */
void tally_count_before(struct qemu_plugin_insn *insn, const struct insn_sequence *sequence,
                        enum tally_manner manner);

/* For aborts_watch(). Does nothing before tally_set_thread(). */
void tally_note_abort(enum abort_reason reason);

/* Tells the calling host thread which guest thread it is. */
void tally_set_thread(unsigned thread);

/* To be called by the thread itself. */
void tally_add_syscall(unsigned thread);
void tally_add_bytes(unsigned thread, uint64_t read, uint64_t written);

/*
 * The words that translated code adds to while there is one thread: TALLY_WORDS
 * of them, all zero. To be set before anything is counted.
 */
#define TALLY_WORDS 16
void tally_use_words(uint64_t *words);

/* The same for kinds: KIND_COUNT words. Without this call kinds are not counted. */
void tally_use_kind_words(uint64_t *words);

/* Each sequence that begins is told to the profile. To be called before anything is counted. */
void tally_feed_profile(void);

/*
 * What the thread has done since the last call for it, without what went to
 * the words. By the thread itself.
 */
struct tally tally_flush(unsigned thread);

/* The same for the calling thread; nothing when it is not known which it is. */
struct tally tally_flush_own(void);

/* What one thread has done so far. */
struct tally tally_of_thread(unsigned thread);

/* What all threads have done so far, those that ended included. */
struct tally tally_of_process(void);

struct tally tally_sum(struct tally a, struct tally b);
struct tally tally_difference(struct tally a, struct tally b);

/*
 * Gives back what QEMU 7.2 keeps of each thread that has ended: its processor, an
 * object of some 25 KB. QEMU lets go of its own reference when the thread ends,
 * but the processor stays a child of the container for devices without a parent,
 * which holds another, and which QEMU searches from the start for a free name each
 * time.
 *
 * A child is an entry in its parent's table of properties. The counter sees QEMU
 * insert it, and when the thread has ended takes it out as QEMU itself would: it
 * calls the entry's release function, and removes the entry. It does so when the
 * next thread is made, where QEMU holds the lock under which it changes that table.
 * With it goes the thread's generator of random numbers, which -seed gives it.
 *
 * A QEMU that takes the child out itself (8.1 and later) is noticed and left alone.
 */

/* Begins to. False when this QEMU does not make its threads in that way. */
bool ended_threads_reclaim(void);

/* The thread that the caller is making gets this index. */
void ended_threads_began(unsigned thread);

/* On the thread itself: its exit(2) is about to be done. */
void ended_threads_exits(unsigned thread);

#endif
