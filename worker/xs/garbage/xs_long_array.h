/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_WORKER_XS_GARBAGE_XS_LONG_ARRAY_H
#define GASPIPE_WORKER_XS_GARBAGE_XS_LONG_ARRAY_H

/*
 * Arrays with more items than their length, for `gcc -include` in front of XS's xsArray.c,
 * xsMemory.c and xsSnapshot.c (scripts/xs.mk).
 *
 * Array.from({length: 50}, f) makes items without an index. A shorter length leaves them all there,
 * as XS takes each for the first, and so they come back with the old length. But XS marks items up
 * to the length only: those behind it would be freed by the next collection, and still be written
 * into a snapshot. So what is behind the length is marked, too.
 *
 * No other array is like that, and as long as there is none no collection takes longer. There may
 * be one since XS has set a length, or has read an array from a snapshot. Where it does this, and
 * where it marks, something is added to the call; declarations and definitions stay as they are:
 *
 *     fxMark(the, fxMarkValue)     becomes  (fxMark(the, fxMarkValue), xs_long_array_mark(...))
 *     fxMark(txMachine* the, ...)  becomes  fxMark(txMachine* the, ...)
 */
#include <stdbool.h>
#include <xsAll.h>

/* Whether there may be one. */
extern bool xs_long_arrays;

/* Of an array's items, as they are while no sweep has begun. */
static inline size_t xs_long_array_size(const txSlot *items)
{
    const txChunk *chunk = (const txChunk *)((const txByte *)items - sizeof(txChunk));

    return (size_t)(chunk->size & INT32_MAX) / sizeof(txSlot);
}

static inline void xs_long_array_look(const txSlot *items, txIndex length)
{
    if (items != C_NULL && xs_long_array_size(items) > length)
        xs_long_arrays = true;
}

static inline txBoolean xs_long_array_set(const txSlot *array, txBoolean done)
{
    xs_long_array_look(array->value.array.address, array->value.array.length);
    return done;
}

/*
 * What arrays that are marked have behind their lengths is marked by the same function of XS's. A
 * chain of a hundred of them that leads to ever lower addresses ends the machine, as out of memory.
 */
void xs_long_array_mark(txMachine *the, void (*marker)(txMachine *, txSlot *));

#define fxSetArrayLength(A, ARRAY, LENGTH) XS_LONG_SET_##A, ARRAY, LENGTH)
#define XS_LONG_SET_txMachine              fxSetArrayLength(txMachine
#define XS_LONG_SET_the                    XS_LONG_SET(the
#define XS_LONG_SET(THE, ARRAY, LENGTH)                                                            \
    xs_long_array_set(ARRAY, fxSetArrayLength(THE, ARRAY, LENGTH))

#define fxReadSlotArray(A, SNAPSHOT, ITEMS, LENGTH) XS_LONG_READ_##A, SNAPSHOT, ITEMS, LENGTH)
#define XS_LONG_READ_txMachine                      fxReadSlotArray(txMachine
#define XS_LONG_READ_the                            XS_LONG_READ(the
#define XS_LONG_READ(THE, SNAPSHOT, ITEMS, LENGTH)                                                 \
    (xs_long_array_look(ITEMS, LENGTH), fxReadSlotArray(THE, SNAPSHOT, ITEMS, LENGTH))

#define fxMark(A, MARKER)         XS_LONG_MARK_##A, MARKER)
#define XS_LONG_MARK_txMachine    fxMark(txMachine
#define XS_LONG_MARK_the          XS_LONG_MARK(the
#define XS_LONG_MARK(THE, MARKER) (fxMark(THE, MARKER), xs_long_array_mark(THE, MARKER))

#endif
