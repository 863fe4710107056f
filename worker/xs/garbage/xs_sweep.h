/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_WORKER_XS_GARBAGE_XS_SWEEP_H
#define GASPIPE_WORKER_XS_GARBAGE_XS_SWEEP_H

/*
 * For `gcc -include` in front of XS's xsMemory.c (scripts/xs.mk): where XS calls its fxSweep(),
 * it calls xs_sweep() instead. What declares and defines fxSweep() stays as it is:
 *
 *     fxSweep(the)            becomes  xs_sweep(the)
 *     fxSweep(txMachine* the) becomes  fxSweep(txMachine* the)
 */
#include <xsAll.h>

#define fxSweep(ARGUMENT)  XS_SWEEP_##ARGUMENT)
#define XS_SWEEP_the       xs_sweep(the
#define XS_SWEEP_txMachine fxSweep(txMachine

/* What is marked stays, in order and without gaps between chunks; the other slots are free. */
void xs_sweep(txMachine *the);

#endif
