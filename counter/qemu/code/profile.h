/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_COUNTER_QEMU_CODE_PROFILE_H
#define GASPIPE_COUNTER_QEMU_CODE_PROFILE_H

#include <stdbool.h>
#include <stdint.h>

#include "counter/kind.h"
#include "counter/qemu/code/chain_tree.h"
#include "counter/qemu/code/insn.h"
#include "counter/qemu/emulator/qemu_plugin_api.h"
#include "counter/qemu/guest/address_space.h"

/* Writes a profile of each region in the format of counter/profile_stream.h. */

/*
 * A profile with call chains (`profile=PATH`). Each process appends to the
 * file when it ends or calls execve(2). Lines have decimal numbers and a path:
 *
 *   process PID
 *   call ID CALLER OFFSET PATH       chain ID extends chain CALLER (0: no calls) by
 *                                    a call that returns to OFFSET in PATH
 *   count INSTRUCTIONS ID OFFSET PATH  instructions that completed at OFFSET in
 *                                    PATH, in chain ID
 *
 * Code from no file has the offset 0 and the path "-". Calls deeper than
 * PROFILE_DEPTH_MAX count for the last chain.
 *
 * Following calls is hard because QEMU reports no calls, only memory accesses.
 * A call instruction writes its return address to the stack; a return reads
 * one. The counter keeps these slots on a stack of its own:
 *
 *   higher addresses    main's slot      chain 1
 *                       parse's slot     chain 2
 *   lower addresses     read's slot      chain 3, the innermost
 *
 * A write or read of a slot ends all calls whose slots lie below it. So
 * longjmp(3), exceptions and tail calls, which skip returns, do no harm. A
 * handler on an alternate stack counts as called by the code it interrupted.
 * If a program switches stacks (swapcontext(3)), all its instructions are
 * counted, but some callers are wrong.
 */

#define PROFILE_DEPTH_MAX 256

/* Returns false if the path is too long; reports it on stderr. */
bool profile_open(const char *path);

/* Writes each region of a thread to that descriptor, which it takes over
 * (counter/profile_stream.h). Code outside of regions is no longer counted. May be combined with
 * profile_open(). */
bool profile_open_regions(int fd);

/*
 * The functions below do nothing if no profile was opened.
 *
 * Called while a block is translated: watches the stack accesses of `insn` if it is a call or a
 * return.
 */
void profile_watch(struct qemu_plugin_insn *insn, const struct opcode *opcode);

/* A thread with this index begins, in no call. */
void profile_thread_began(unsigned thread);

/* The guest may have several threads from this call on. */
void profile_threads_come(void);

/* The thread begins the sequence. */
void profile_began(unsigned thread, const struct insn_sequence *sequence);

/* The cells that the first thread counts in while it is the only one. */
extern struct profile_alone {
    struct call_cell *cells;
    uint32_t mask; /* as in struct call_chain */
} profile_alone;

/* Like profile_began(), while there is one thread, for the sequence with that key and length. Each
 * sequence calls it, so it is short enough to inline. */
static inline void profile_began_alone(uint32_t key, uint32_t length)
{
    struct call_cell *cell = &profile_alone.cells[key & profile_alone.mask];

    if (__builtin_expect(cell->key != key, 0) || !call_cell_add(cell, length))
        profile_began(0, insn_sequence_of_key(key));
}

/* The last instruction of the thread's last sequence did not complete. */
void profile_aborted(unsigned thread, const struct insn_sequence *sequence);

/* Sets the thread's alternate signal stack; size 0: none. */
void profile_alternate_stack(unsigned thread, uint64_t start, uint64_t size);

/* Call this before a system call that ends the process or executes another program. */
void profile_write(void);

/* Call this before the guest unmaps memory: it is the last chance to learn which file was there. */
void profile_unmaps(uint64_t start, uint64_t size);

/* The thread's marks (counter/gasmark.h); `instructions`: the region's total. */
void profile_region_starts(unsigned thread);
void profile_region_rests(unsigned thread, bool rests);
void profile_region_ends(unsigned thread, uint64_t instructions);

/* The guest maps code. */
void profile_maps_change(void);

/* Call this before the process loses access to /proc/self/maps: it reads the mapped files. */
void profile_sees_files(void);

#endif
