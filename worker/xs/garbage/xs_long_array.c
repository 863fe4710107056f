/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/xs/garbage/xs_long_array.h"

bool xs_long_arrays;

/* Whether the array has anything behind its length. */
static bool mark_rest(txMachine *the, const txSlot *array, void (*marker)(txMachine *, txSlot *))
{
    const txIndex length = array->value.array.length;
    txSlot *items = array->value.array.address;
    size_t size;

    if (items == NULL)
        return false;
    size = xs_long_array_size(items);
    for (size_t i = length; i < size; i++)
        marker(the, items + i);
    return size > length;
}

/* How many there are. */
static size_t mark_rests(txMachine *the, void (*marker)(txMachine *, txSlot *))
{
    size_t found = 0;

    for (const txSlot *heap = the->firstHeap; heap != NULL; heap = heap->next)
        for (const txSlot *slot = heap + 1; slot < heap->value.reference; slot++)
            if (slot->kind == XS_ARRAY_KIND && (slot->flag & XS_MARK_FLAG))
                found += mark_rest(the, slot, marker);
    return found;
}

/* Nobody's program needs more; one that tries to would have a collection take hours. */
enum { PASSES_MAX = 100 };

/* What is behind one's length may refer to another one, in front of it. */
void xs_long_array_mark(txMachine *the, void (*marker)(txMachine *, txSlot *))
{
    size_t found = 0, before;
    int passes = 0;

    if (!xs_long_arrays)
        return;
    do {
        if (++passes > PASSES_MAX)
            fxAbort(the, XS_NOT_ENOUGH_MEMORY_EXIT);
        before = found;
        found = mark_rests(the, marker);
    } while (found > before);
    xs_long_arrays = found > 0;
}
