/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/xs/xs_garbage.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/*
 * The second half of a garbage collection, in place of XS's fxSweep(). Slots and chunks,
 * their order and every byte must come out as fxSweep() leaves them, because they are in the
 * snapshots.
 *
 *     block before   | staying: all in use      | free | used | free | used |
 *     block after    | the same, not moved      | used | used |  free       |
 *                                               ^ first free chunk
 *
 * XS visits all chunks to compute their new places, updates each slot that refers to a
 * chunk, and visits all chunks again to move them. In a heap that is collected often, nearly
 * all chunks lie before the first free one and do not move. This code visits these once, and
 * looks up new places only for the others.
 *
 * The hazard: during a sweep a chunk's header temporarily holds other values. find_places()
 * sets its size to the distance to the next chunk, and its end to its new place. No other XS
 * function may read chunks until the sweep has ended.
 */

/* Flag in a chunk's size: in use, as in xsMemory.c. */
enum { IN_USE = INT32_MIN };

/* The staying chunks: those before the first free one, in the block that has most of them. */
struct staying {
    const txBlock *block;
    uintptr_t from;
    size_t size;
};

static txByte *first_chunk(const txBlock *block)
{
    return (txByte *)block + sizeof(txBlock);
}

/* Returns the block's first chunk that may move. */
static txByte *first_moving(const struct staying *staying, const txBlock *block)
{
    return first_chunk(block) + (block == staying->block ? staying->size : 0);
}

/* ---- chunks: compute the new places ---- */

static struct staying find_staying(txMachine *the)
{
    const txBlock *block = the->firstBlock;
    txByte *place;

    for (const txBlock *other = block; other != NULL; other = other->nextBlock)
        if (other->current - (const txByte *)other > block->current - (const txByte *)block)
            block = other;
    if (block == NULL)
        return (struct staying){0};
    place = first_chunk(block);
    while (place < block->current) {
        txChunk *chunk = (txChunk *)place;
        const txSize size = chunk->size & ~IN_USE;

        if (!(chunk->size & IN_USE) || place + size != chunk->temporary)
            break;
        chunk->size = size;
        place += size;
    }
    return (struct staying){block, (uintptr_t)first_chunk(block),
                            (size_t)(place - first_chunk(block))};
}

/* From `place`, sets each chunk's size to the distance to the next, and its end to its new
 * place. */
static void find_places(txBlock *block, txByte *place)
{
    txByte *target = place;

    while (place < block->current) {
        txChunk *chunk = (txChunk *)place;
        txByte *next = chunk->temporary;

        chunk->temporary = NULL;
        if (chunk->size & IN_USE) {
            chunk->temporary = target;
            target += chunk->size & ~IN_USE;
        }
        chunk->size = (txSize)(next - place);
        place = next;
    }
    block->temporary = target;
}

/* ---- slots: update references to chunks ---- */

/* XS passes only the object to a host object's hooks, so this is static. */
static struct staying staying;

/* Returns the new place of the chunk's data. */
static inline void *moved_data(void *data)
{
    const txChunk *chunk = (const txChunk *)((uintptr_t)data - sizeof(txChunk));
    txByte *target;

    /* Compare the header: an empty chunk's data is where the next one begins. */
    if (data == NULL || (uintptr_t)chunk - staying.from < staying.size)
        return data;
    target = chunk->temporary;
    return target != NULL ? target + sizeof(txChunk) : data;
}

static void change(txMachine *the, txSlot *slot);

/* Returns the used size of a chunk in use; find_places() has set its size to its capacity. */
static size_t used_size(txMachine *the, const txChunk *chunk)
{
    const txBlock *block = the->firstBlock;
    const txByte *next = (const txByte *)chunk + chunk->size;

    if ((uintptr_t)chunk - staying.from < staying.size)
        return (size_t)chunk->size;
    while ((uintptr_t)chunk < (uintptr_t)block || (uintptr_t)chunk >= (uintptr_t)block->current)
        block = block->nextBlock;
    while (next < block->current && ((const txChunk *)next)->temporary == NULL)
        next += ((const txChunk *)next)->size;
    next = next < block->current ? ((const txChunk *)next)->temporary : block->temporary;
    return (size_t)(next - chunk->temporary);
}

static void change_array(txMachine *the, txSlot *array)
{
    txSlot *item = array->value.array.address;
    const txChunk *chunk;
    size_t length;

    if (item == NULL)
        return;
    chunk = (const txChunk *)((const txByte *)item - sizeof(txChunk));
    length = (size_t)chunk->size / sizeof(txSlot);
    if (length > array->value.array.length)
        length = xs_mark_found_long_array && array->kind == XS_ARRAY_KIND
                     ? used_size(the, chunk) / sizeof(txSlot)
                     : array->value.array.length;
    for (; length > 0; length--)
        change(the, item++);
    array->value.array.address = moved_data(array->value.array.address);
}

static void change_host(txMachine *the, txSlot *host)
{
    if (host->value.host.data == NULL)
        return;
    if ((host->flag & XS_HOST_HOOKS_FLAG) && host->value.host.variant.hooks->sweeper != NULL)
        host->value.host.variant.hooks->sweeper(the, host->value.host.data, change);
    if (host->flag & XS_HOST_CHUNK_FLAG)
        host->value.host.data = moved_data(host->value.host.data);
}

#define KIND(NAME) (UINT64_C(1) << XS_##NAME##_KIND)

/* The kinds whose value begins with a chunk, those with more references, and all others. */
static const uint64_t begin_with_chunk = KIND(STRING) | KIND(KEY) | KIND(BIGINT) | KIND(CODE) |
                                         KIND(ARRAY_BUFFER) | KIND(GLOBAL) | KIND(MAP) | KIND(SET) |
                                         KIND(IDS);
static const uint64_t others = KIND(REGEXP) | KIND(ARGUMENTS_SLOPPY) | KIND(ARGUMENTS_STRICT) |
                               KIND(ARRAY) | KIND(STACK) | KIND(HOST);

static void change_other(txMachine *the, txSlot *slot)
{
    if (slot->kind == XS_REGEXP_KIND) {
        slot->value.regexp.code = moved_data(slot->value.regexp.code);
        slot->value.regexp.data = moved_data(slot->value.regexp.data);
    } else if (slot->kind == XS_HOST_KIND) {
        change_host(the, slot);
    } else {
        change_array(the, slot);
    }
}

static inline void change_value(txMachine *the, txSlot *slot)
{
    const uint64_t kind = UINT64_C(1) << (slot->kind & 63);

    if (kind & begin_with_chunk) {
        if ((uintptr_t)slot->value.string - staying.from >= staying.size)
            slot->value.string = moved_data(slot->value.string);
    } else if (kind & others) {
        change_other(the, slot);
    }
}

static void change(txMachine *the, txSlot *slot)
{
    change_value(the, slot);
}

/* Updates the address at which a frame or a catch continues in a function's code. In a frame of
 * the host it is the beginning of a chunk. */
static void change_code(txByte **code, const txSlot *frame, bool of_host)
{
    if (of_host) {
        *code = moved_data(*code);
    } else {
        const txSlot *function = (frame + 3)->value.reference->next;

        if (function->kind == XS_CODE_KIND)
            *code +=
                (txByte *)moved_data(function->value.code.address) - function->value.code.address;
    }
}

static void change_roots(txMachine *the)
{
    txByte **code = &the->code;

    for (txSlot *frame = the->frame; frame != NULL; frame = frame->next) {
        change_code(code, frame, (frame->flag & XS_C_FLAG) != 0);
        code = &frame->value.frame.code;
    }
    for (txJump *jump = the->firstJump; jump != NULL; jump = jump->nextJump)
        change_code(&jump->code, jump->frame, !jump->flag);
    for (txSlot *slot = the->stack; slot < the->stackTop; slot++)
        change(the, slot);
    for (txSlot *slot = the->cRoot; slot != NULL; slot = slot->next)
        change(the, slot);
}

/* ---- slots ---- */

static void destroy(const txSlot *slot)
{
    if (slot->flag & XS_HOST_HOOKS_FLAG) {
        if (slot->value.host.variant.hooks->destructor != NULL)
            slot->value.host.variant.hooks->destructor(slot->value.host.data);
    } else if (slot->value.host.variant.destructor != NULL) {
        slot->value.host.variant.destructor(slot->value.host.data);
    }
}

static void sweep_slots(txMachine *the)
{
    txSlot *free_slots = NULL;
    txSize used = 0;

    for (txSlot *heap = the->firstHeap; heap != NULL; heap = heap->next) {
        const txSlot *end = heap->value.reference;

        for (txSlot *slot = heap + 1; slot < end; slot++) {
            if (slot->flag & XS_MARK_FLAG) {
                slot->flag &= (txFlag)~XS_MARK_FLAG;
                change_value(the, slot);
                used++;
            } else {
                if (slot->kind == XS_HOST_KIND)
                    destroy(slot);
                slot->kind = XS_UNDEFINED_KIND;
                slot->next = free_slots;
                free_slots = slot;
            }
        }
    }
    the->currentHeapCount = used;
    the->freeHeap = free_slots;
}

/* ---- chunks: move them ---- */

/* Ends a moved chunk where the next one begins. */
static void end_chunk(txChunk *chunk, txByte *end)
{
    if (chunk == NULL)
        return;
    chunk->temporary = end;
    chunk->size = (txSize)(end - (txByte *)chunk);
}

static void move_chunks(txBlock *block, txByte *place)
{
    txChunk *former = NULL;

    while (place < block->current) {
        const txChunk *chunk = (const txChunk *)place;
        const txSize size = chunk->size;
        txByte *target = chunk->temporary;

        if (target != NULL) {
            end_chunk(former, target);
            if (target != place)
                memmove(target, place, (size_t)size);
            former = (txChunk *)target;
        }
        place += size;
    }
    end_chunk(former, block->temporary);
    block->current = block->temporary;
    block->temporary = NULL;
}

void xs_sweep(txMachine *the)
{
    txSize sum = 0;

    staying = find_staying(the);
    for (txBlock *block = the->firstBlock; block != NULL; block = block->nextBlock) {
        find_places(block, first_moving(&staying, block));
        sum += (txSize)(block->temporary - first_chunk(block));
    }
    the->currentChunksSize = sum;
    change_roots(the);
    sweep_slots(the);
    for (txBlock *block = the->firstBlock; block != NULL; block = block->nextBlock)
        move_chunks(block, first_moving(&staying, block));
    xs_mark_found_long_array = false;
}
