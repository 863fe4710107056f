/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_COUNTER_QEMU_EMULATOR_HOST_H
#define GASPIPE_COUNTER_QEMU_EMULATOR_HOST_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "counter/qemu/emulator/qemu_plugin_api.h"

/* Hides the differences between QEMU versions. QEMU up to 8.2 has version 1 of the plugin API. QEMU
 * 9.0 and later have version 2 or higher, with a word per thread that translated code adds to (a
 * scoreboard). One build of the counter serves both; it detects the version by the functions that
 * QEMU exports. */

/* Call this once, before the others. Returns false if this QEMU lacks a required function. */
bool host_learn(const struct qemu_plugin_info *info);

/* Stores the path that QEMU got for its program. Returns false if it is unknown. */
bool host_program(char path[PATH_MAX]);

/* Copies the bytes of an instruction that is being translated. Returns how many. */
size_t host_instruction_bytes(const struct qemu_plugin_insn *insn, uint8_t *bytes, size_t capacity);

/* Returns true if each iteration of a repeated string instruction begins as an instruction of its
 * own. QEMU 10 runs many iterations at once; QEMU 9 is treated like 10. */
bool host_shows_iterations(void);

/* Returns true if translated code can add to a word per thread. Otherwise do not call the next
 * two. */
bool host_has_scoreboards(void);

/* Makes translated code add `number` to the thread's word each time before the instruction. */
void host_add_before(struct qemu_plugin_insn *insn, uint64_t number);

/* Returns the thread's word. A later thread with the same index continues it. */
uint64_t host_added(unsigned thread);

/*
 * Detects instructions that began, and so were counted, but did not complete.
 * Some fault. Others begin again: a store into the code of its own block, or
 * an atomic operation that the host lacks.
 *
 * The hazard: version 1 of the plugin API reports none of these. But QEMU
 * leaves a block in its middle only with siglongjmp(3), and a failed memory
 * access reaches QEMU as a signal. The counter interposes both:
 *
 *   siglongjmp during SIGSEGV or SIGBUS   the access failed: an abort
 *   the same, while QEMU holds a lock     QEMU was reading code to translate
 *                                         it: nothing began, no abort
 *   siglongjmp without a signal           an abort only if the last instruction
 *                                         begun can raise an exception
 *
 * The last rule is needed because QEMU also jumps after a system call, int3 or
 * pause, which completed, and when the guest jumped to unmapped code, where no
 * instruction began. Translated code never runs while QEMU holds a lock.
 */

enum abort_reason {
    ABORT_BY_MEMORY,  /* an abort */
    ABORT_BY_RAISING, /* an abort if the last instruction that began can raise an exception */
};

/* Called on the guest thread's host thread, possibly in a signal handler, each time an instruction
 * may have been aborted. */
typedef void abort_function(enum abort_reason reason);

/* Starts to watch. Returns false if this QEMU does not leave blocks with siglongjmp(3). */
bool aborts_watch(abort_function *noted);

/* Call this on the thread when a system call has ended: after fork(2), QEMU's child initializes its
 * locks again instead of unlocking them. */
void aborts_syscall_ended(void);

#endif
