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

/* Appends what the tree has gathered to the file, as profile.h describes its lines. Says on stderr
 * what went wrong. */
void profile_text_append(const char *path, const struct chain_tree *tree,
                         const struct guest_files *files);

/* Writes a profile of each region as counter/profile_stream.h has it. */

/* To a copy of that descriptor, which is closed. False: it is not open. */
bool profile_regions_open(int fd);

/* Looks which files are mapped; where it may not, those of before stay. */
void profile_regions_mapped(void);

/* What the tree has gathered is a region's. It is written to the end, or nothing more is: a
 * program does not fail because nobody listens. */
void profile_regions_write(const struct chain_tree *tree, int64_t began, int64_t ended,
                           uint64_t instructions);

/*
 * Where the instructions are that were executed, and who called them
 * (`profile=PATH`). Each process appends to the file when it ends or becomes
 * another program, lines of decimal numbers with a path last:
 *
 *   process PID
 *   call ID CALLER OFFSET PATH       a chain of calls: that of CALLER, an ID of a
 *                                    line before or 0 for none, and behind it a call
 *                                    that returns to OFFSET in the file at PATH
 *   count INSTRUCTIONS ID OFFSET PATH  so many completed at that place, called so
 *
 * Code from no file has the offset 0 and the path "-". Chains longer than
 * PROFILE_DEPTH_MAX are cut: what is called deeper counts for the last chain.
 *
 * Who called is followed by where return addresses lie on the stack: a call
 * writes one, a return reads one. All calls whose return address lies below
 * one that is read or written later are over, so that longjmp(3), exceptions
 * and calls in the place of a return do no harm. A handler on an alternate
 * stack counts as called by what it interrupted. A program that changes stacks
 * by itself (swapcontext(3)) has all its instructions, but callers may be wrong.
 */

#define PROFILE_DEPTH_MAX 256

/* False, with words on stderr, when the path is too long. */
bool profile_open(const char *path);

/* Instead, or as well: each region of a thread is written to that descriptor, which it takes
 * (counter/profile_stream.h). Then nothing outside of regions is counted. */
bool profile_open_regions(int fd);

/*
 * The others do nothing, or are not called, where no profile was asked for.
 *
 * While a block is being translated: follows what `insn` does to the stack, if
 * it is a call or a return.
 */
void profile_watch(struct qemu_plugin_insn *insn, const struct opcode *opcode);

/* A thread with this index begins; nobody has called it. */
void profile_thread_began(unsigned thread);

/* There may be several threads from now on. */
void profile_threads_come(void);

/* The sequence begins on that thread. */
void profile_began(unsigned thread, const struct insn_sequence *sequence);

/* Where the sequences of the first thread are counted while it is the only one. */
extern struct profile_alone {
    struct call_cell *cells;
    uint32_t mask; /* as in struct call_chain */
} profile_alone;

/* The same as profile_began() while there is one thread, for the sequence with that key and length.
 * This is called for each sequence, so it is short enough to become part of the caller. */
static inline void profile_began_alone(uint32_t key, uint32_t length)
{
    struct call_cell *cell = &profile_alone.cells[key & profile_alone.mask];

    if (__builtin_expect(cell->key != key, 0) || !call_cell_add(cell, length))
        profile_began(0, insn_sequence_of_key(key));
}

/* The last instruction of the sequence, the last that began, did not complete. */
void profile_aborted(unsigned thread, const struct insn_sequence *sequence);

/* The thread's handlers may run on this stack from now on; size 0: not any more. */
void profile_alternate_stack(unsigned thread, uint64_t start, uint64_t size);

/* To be called before a system call that ends the process or makes it another program. */
void profile_write(void);

/* To be called before the guest unmaps memory: afterwards nobody knows what was there. */
void profile_unmaps(uint64_t start, uint64_t size);

/* Marks of the thread (counter/gasmark.h); `instructions`: what its region came to. */
void profile_region_starts(unsigned thread);
void profile_region_rests(unsigned thread, bool rests);
void profile_region_ends(unsigned thread, uint64_t instructions);

/* The guest maps code. */
void profile_maps_change(void);

/* To be called before the process loses sight of its files: notes which are mapped. */
void profile_sees_files(void);

#endif
