/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SANDBOX_TIGHT_FILTER_H
#define GASPIPE_SANDBOX_TIGHT_FILTER_H

#include <stdbool.h>

/*
 * The seccomp filter under which a worker runs contracts, from when it is ready on: it reads and
 * writes descriptors that it has, takes and gives back memory that cannot be executed, asks for
 * the time, and ends. Opening a file fails with EACCES, and so do other calls that only ask, each
 * with an error that is the same on every machine. All else ends the process by SIGSYS, after a
 * line on stderr: TIGHT_FILTER_REFUSES and the name of the system call, or its number if it has
 * none.
 *
 * `whole_process` puts all threads under it, as QEMU needs, whose helper threads live on. Not to
 * be undone. Returns 0 or an errno; EOPNOTSUPP in a build with sanitizers, whose reports need
 * what the filter refuses.
 */
int sandbox_enter_tight_filter(bool whole_process);
#define TIGHT_FILTER_REFUSES "contracts may not make the system call "

/*
 * To be called before the system call of QEMU's guest. QEMU blocks all signals before it makes a
 * process, and the filter could not name the call: under the filter, this does it instead.
 */
void sandbox_check_process_call(long number);

#endif
