/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_WORKER_XS_GARBAGE_XS_SWEEP_H
#define GASPIPE_WORKER_XS_GARBAGE_XS_SWEEP_H

/* The second half of a collection of garbage, in place of XS's fxSweep(), for -include in front of
 * XS's xsMemory.c (scripts/xs.mk). */
#include <xsAll.h>

/* What is marked stays, in order and without gaps between chunks; the other slots are free. */
void xs_sweep(txMachine *the);

#endif
