/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_WORKER_XS_XS_GARBAGE_H
#define GASPIPE_WORKER_XS_XS_GARBAGE_H

/*
 * Collecting garbage, for -include in front of XS's xsMemory.c and xsSnapshot.c (scripts/xs.mk).
 * xs_mark.c marks what is in use, and numbers the slots of a snapshot: both follow all that a slot
 * leads to, in XS's order. XS does so by recursion; here a list says what is still to be followed,
 * and no heap is too deep. xs_sweep.c then frees the rest, as XS's fxSweep() does.
 */
#include <stdbool.h>
#include <xsAll.h>

struct sxSnapshot;

/* Markers for fxMark(): all that is in use, or all but chunks. */
void xs_mark_value(txMachine *the, txSlot *slot);
void xs_mark_reference(txMachine *the, txSlot *slot);

/* Gives the next numbers to the slots that this one leads to. */
void xs_mark_for_snapshot(txMachine *the, struct sxSnapshot *snapshot, txSlot *slot);

/*
 * Array.from({length: 50}, f) makes items without an index. A shorter length leaves them all there,
 * as XS takes each for the first, and so they come back with the old length. All of an array's
 * items are therefore marked, also those after its length. True since one with such items was met;
 * the sweep that follows looks for their end, and makes it false.
 */
extern bool xs_mark_found_long_array;

/* What is marked stays, in order and without gaps between chunks; the other slots are free. The
 * sanitized engine defines the name as fxSweep, XS's own. */
#ifndef xs_sweep
void xs_sweep(txMachine *the);
#endif

#endif
