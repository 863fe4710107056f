/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/xs/snapshot/xs_as_loaded.h"

#include <xsAll.h>

/* ---- how long the parts of a snapshot are ---- */

/* Each begins with its length and its name. */
enum { PARTS = 10, PART_HEAD = 8, VERSION_SIZE = 4 };

/* All but that of chunks. */
static size_t bytes_of_others(const txMachine *the, const struct xs_written *written)
{
    const size_t tables =
        (size_t)the->keyIndex + (size_t)the->nameModulo + (size_t)the->symbolModulo;

    return PARTS * PART_HEAD + VERSION_SIZE + written->signature + sizeof(txCreation) +
           sizeof the->profileID + sizeof the->tag +
           (written->slots + (size_t)(the->stackTop - the->stack)) * sizeof(txSlot) +
           tables * sizeof(txSlot *);
}

/* ---- what is in the heap ---- */

/* Whether there is a slot for each of the snapshot's, and for each entry, and no other. */
static bool has_same_slots(const txMachine *the, const struct xs_written *written)
{
    const struct xs_sweep_count *found = &written->found;

    return found->known && !found->unsaved && found->entries == found->keys &&
           (size_t)the->currentHeapCount == written->slots + found->entries;
}

static bool has_same_chunks(const txMachine *the, const struct xs_written *written)
{
    const txBlock *block = the->firstBlock;
    const txByte *start = (const txByte *)(block + 1);
    const size_t others = bytes_of_others(the, written);

    return written->size >= others && (size_t)(block->current - start) == written->size - others &&
           (size_t)the->currentChunksSize == written->size - others;
}

/* One of slots and one of chunks: nothing was added since they were made. */
static bool has_one_piece_of_each(const txMachine *the)
{
    const txSlot *heap = the->firstHeap;
    const txBlock *block = the->firstBlock;

    return heap->next == NULL && block->nextBlock == NULL &&
           heap->value.reference - heap - 1 == the->maximumHeapCount &&
           block->limit - (const txByte *)(block + 1) == the->maximumChunksSize;
}

/* What a machine has besides its heap, and a snapshot has not. */
static bool has_nothing_else(const txMachine *the)
{
    return the->collectFlag == XS_COLLECTING_FLAG && the->cRoot == NULL && the->aliasCount == 0 &&
           the->keyOffset == 0 && the->firstWeakRefLink == NULL && the->frame == NULL &&
           the->timerJobs == NULL && the->promiseJobs == 0 && the->abortStatus == 0;
}

bool xs_as_loaded(const void *machine, const struct xs_written *written)
{
    const txMachine *the = machine;

    return has_nothing_else(the) && has_one_piece_of_each(the) && has_same_chunks(the, written) &&
           has_same_slots(the, written);
}
