/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SANDBOX_TIGHT_FILTER_H
#define GASPIPE_SANDBOX_TIGHT_FILTER_H

#include <stdbool.h>

/*
 * The seccomp filter under which a worker runs contracts, from when it is ready on: it reads and
 * writes descriptors that it has, takes and gives back memory that cannot be executed, asks for
 * the time, and ends. Opening a file fails with EACCES; all else kills the process.
 *
 * `whole_process` puts all threads under it, as QEMU needs, whose helper threads live on. Not to
 * be undone. Returns 0 or an errno; EOPNOTSUPP in a build with sanitizers, whose reports need
 * what the filter refuses.
 */
int sandbox_enter_tight_filter(bool whole_process);

#endif
