/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_COUNTER_QEMU_EMULATOR_ABORTS_H
#define GASPIPE_COUNTER_QEMU_EMULATOR_ABORTS_H

#include <stdbool.h>

/*
 * Instructions that began, and so were counted, but did not complete: those
 * that fault, and those that QEMU has to begin once more (a store into the code
 * of the block that is running, an atomic operation that the host lacks).
 *
 * QEMU's plugin API, version 1, tells nothing of these. But QEMU leaves the
 * middle of a block in one way only, by siglongjmp(3), and an access to memory
 * that fails reaches QEMU as a signal. The counter sees both.
 *
 * QEMU leaves so for other reasons as well: for a syscall, an int3 or a pause,
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
 * To be called when a syscall has ended, on its thread: of fork(2), QEMU's
 * child makes its locks anew instead of unlocking them.
 */
void aborts_syscall_ended(void);

#endif
