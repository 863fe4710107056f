/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_WORKER_XS_XS_GARBAGE_H
#define GASPIPE_WORKER_XS_XS_GARBAGE_H

/*
 * Garbage collection, included with -include before XS's xsMemory.c and xsSnapshot.c
 * (scripts/xs.mk).
 *
 *     mark (xs_mark.c)     finds everything in use, or numbers the slots of a snapshot
 *     sweep (xs_sweep.c)   frees the rest, and closes the gaps between chunks
 *
 * Both keep XS's order, because heap and snapshots must equal those of xsnap-worker byte for
 * byte. XS marks by recursion, which overflows the C stack in a deep heap; xs_mark.c has an
 * explicit list.
 */
#include <stdbool.h>
#include <xsAll.h>

struct sxSnapshot;

/* Call at the beginning of each collection. */
void xs_mark_begin(void);

/* Markers for fxMark(): everything in use, or everything but chunks. */
void xs_mark_value(txMachine *the, txSlot *slot);
void xs_mark_reference(txMachine *the, txSlot *slot);

/* Numbers the slots that this one refers to. */
void xs_mark_for_snapshot(txMachine *the, struct sxSnapshot *snapshot, txSlot *slot);

/*
 * Array.from({length: 50}, f) makes items without an index. After the length is reduced, XS
 * still keeps them all, because each looks like the first one; a larger length makes them
 * visible again. So all items of such an array are marked, also those past its length. True
 * after marking such an array; the next sweep finds the items' end and resets it.
 */
extern bool xs_mark_found_long_array;

/* Keeps marked slots and chunks in order, without gaps between chunks; frees other slots. The
 * sanitized engine uses XS's fxSweep. */
#ifndef xs_sweep
void xs_sweep(txMachine *the);
#endif

#endif
