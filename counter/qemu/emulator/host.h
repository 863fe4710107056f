/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_COUNTER_QEMU_EMULATOR_HOST_H
#define GASPIPE_COUNTER_QEMU_EMULATOR_HOST_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "counter/qemu/emulator/qemu_plugin_api.h"

/*
 * The QEMU that has loaded the counter, as far as QEMUs differ: those up to 8.2
 * have version 1 of the plugin API, those from 9.0 on version 2 and later, with a
 * word for each thread that translated code adds to (a scoreboard). One file of the
 * counter serves both: which it is shows when it is loaded, by the functions that
 * QEMU has.
 */

/* To be called once, before the others. False when this QEMU lacks something. */
bool host_learn(const struct qemu_plugin_info *info);

/* The path by which QEMU got its program. False where it cannot be known. */
bool host_program(char path[PATH_MAX]);

/* The bytes of an instruction that is being translated; how many there are. */
size_t host_instruction_bytes(const struct qemu_plugin_insn *insn, uint8_t *bytes, size_t room);

/*
 * Whether each iteration of a repeating string instruction begins as an instruction.
 * QEMU 10 does many in one go, and 9 is taken for the same.
 */
bool host_shows_iterations(void);

/* Whether translated code can add to words of the thread. If not, the next two must not be called.
 */
bool host_has_scoreboards(void);

/* Each time before the instruction is executed, so many are added to the thread's word. */
void host_add_before(struct qemu_plugin_insn *insn, uint64_t number);

/* The thread's word. Indices are used again, the word goes on. */
uint64_t host_added(unsigned thread);

/*
 * Instructions that began, and so were counted, but did not complete: those
 * that fault, and those that QEMU has to begin once more (a store into the code
 * of the block that is running, an atomic operation that the host lacks).
 *
 * QEMU's plugin API, version 1, tells nothing of these. But QEMU leaves the
 * middle of a block in one way only, by siglongjmp(3), and an access to memory
 * that fails reaches QEMU as a signal. The counter sees both.
 *
 * QEMU leaves so for other reasons as well: for a system call, an int3 or a pause,
 * which have completed, and when there is no code where the guest jumped to, so
 * that no instruction has begun. Without a signal, therefore, only an
 * instruction that can raise an exception by itself (struct instruction,
 * `raises`) is taken for aborted, and only when it was the last to begin. With
 * a signal, QEMU may have been reading the guest's code to translate it: then
 * it holds a lock, which it never does while translated code runs.
 */

enum abort_reason {
    ABORT_BY_MEMORY,  /* certainly an abort */
    ABORT_BY_RAISING, /* one if the last instruction that began can raise */
};

/*
 * Called on the guest thread's host thread, possibly within a signal handler,
 * each time when an instruction may have been aborted.
 */
typedef void abort_function(enum abort_reason reason);

/* Begins to watch. False when this QEMU does not leave blocks in that way. */
bool aborts_watch(abort_function *noted);

/*
 * To be called when a system call has ended, on its thread: of fork(2), QEMU's
 * child makes its locks anew instead of unlocking them.
 */
void aborts_syscall_ended(void);

#endif
