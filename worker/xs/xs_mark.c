/* SPDX-License-Identifier: Apache-2.0 */

#include "worker/xs/xs_garbage.h"

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include <xsSnapshot.h>

#include "worker/xs/xs_memory.h"

/* Flag in a chunk's size: in use, as in xsMemory.c. */
enum { IN_USE = INT32_MIN };

/* Why slots are visited. The functions below are compiled once for each purpose. */
enum purpose { REFERENCES, VALUES, INDEX };

bool xs_mark_found_long_array;

/* ---- the list of slots still to follow ---- */

/* The lowest bits of an entry on the list; the others are a slot's address. */
enum step {
    PROPERTIES,  /* of an instance, from this slot */
    ITEMS,       /* of an array, from this one; the entry below has their number */
    LIST,        /* of a list or a weak map, from this slot, skipping visited ones */
    CHAIN,       /* of private properties, from this slot: each is followed */
    SECOND_HALF, /* of this accessor, home, export or proxy */
    HOLDINGS,    /* of a finalization registry, from this slot */
};

enum { STEP_BITS = 7, PUSHED_MOST = 3 };
_Static_assert(_Alignof(txSlot) > STEP_BITS, "the address of a slot leaves bits for a step");

static struct {
    uintptr_t *items;
    size_t length, size;
} list;

enum { FIRST_SIZE = 64 << 10, KEPT_SIZE = 1 << 20 };

static void enlarge(txMachine *the)
{
    const size_t size = list.size > 0 ? 2 * list.size : FIRST_SIZE / sizeof *list.items;
    void *items = list.size > 0 ? mremap(list.items, list.size * sizeof *list.items,
                                         size * sizeof *list.items, MREMAP_MAYMOVE)
                                : mmap(NULL, size * sizeof *list.items, PROT_READ | PROT_WRITE,
                                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (items == MAP_FAILED) {
        list.length = 0;
        xs_memory_refuse(the);
    }
    list.items = items;
    list.size = size;
}

static void give_back_long_list(void)
{
    if (list.size * sizeof *list.items > KEPT_SIZE) {
        munmap(list.items, list.size * sizeof *list.items);
        list.items = NULL;
        list.size = 0;
    }
}

static inline void push(txMachine *the, enum step step, const txSlot *slot)
{
    if (slot == NULL)
        return;
    if (__builtin_expect(list.length + PUSHED_MOST > list.size, 0))
        enlarge(the);
    list.items[list.length++] = (uintptr_t)slot | step;
}

/* ---- slots and chunks ---- */

static inline txChunk *chunk_of(void *data)
{
    return (txChunk *)((txByte *)data - sizeof(txChunk));
}

static inline void use_chunk(void *data)
{
    chunk_of(data)->size |= IN_USE;
}

/*
 * References all over a large heap are followed only as fast as memory answers, which the count
 * of instructions does not show. So the metered worker charges each slot that a small cache would
 * miss, which has one page for each of PAGES places. In a heap that is larger than this cache, it
 * also charges each slot that is not near the one before it. The cache is empty at first, and slots
 * are at fixed addresses (xs_memory.c), so the charge is the same in every run.
 */
#ifdef __GASPIPE_METER__

enum { NEAR_BYTES = 128, JUMP_COST = 20, PAGE_BITS = 12, PAGES = 2048, MISS_COST = 300 };
enum { CACHED_SLOTS = (PAGES << PAGE_BITS) / sizeof(txSlot) };

void gasmeter_block(uint64_t units);

static uint32_t pages[PAGES]; /* 0: none yet */
static uintptr_t visited;
static uint64_t jump_cost, pending_charge;

static inline void choose_jump_cost(const txMachine *the)
{
    jump_cost = the->maximumHeapCount > CACHED_SLOTS ? JUMP_COST : 0;
}

static inline void charge_for(const txSlot *slot)
{
    const uintptr_t distance = (uintptr_t)slot - visited + NEAR_BYTES;
    const uint32_t page = (uint32_t)((uintptr_t)slot >> PAGE_BITS);
    uint32_t *former;

    visited = (uintptr_t)slot;
    if (__builtin_expect(distance <= 2 * NEAR_BYTES, 1))
        return;
    former = &pages[page % PAGES];
    pending_charge += jump_cost + (*former != page && *former != 0 ? MISS_COST : 0);
    *former = page;
}

static void charge(void)
{
    if (pending_charge > 0)
        gasmeter_block(pending_charge);
    pending_charge = 0;
}

void xs_mark_begin(void)
{
    memset(pages, 0, sizeof pages);
    visited = 0;
}

#else

static inline void choose_jump_cost(const txMachine *the)
{
    (void)the;
}

static inline void charge_for(const txSlot *slot)
{
    (void)slot;
}

static void charge(void)
{
}

void xs_mark_begin(void)
{
}

#endif

static inline bool has_mark(const txSlot *slot)
{
    return (slot->flag & XS_MARK_FLAG) != 0;
}

static inline bool is_met(const txSlot *slot)
{
    charge_for(slot);
    return has_mark(slot);
}

/* For INDEX. */
static txSnapshot *numbered;

static void number(const txSlot *slot)
{
    for (txProjection *part = numbered->firstProjection; part != NULL; part = part->nextProjection)
        if (part->heap < slot && slot < part->limit) {
            part->indexes[slot - part->heap] = (size_t)numbered->slotSize++;
            return;
        }
}

__attribute__((always_inline)) static inline void meet(txSlot *slot, enum purpose purpose)
{
    slot->flag |= XS_MARK_FLAG;
    if (purpose == INDEX)
        number(slot);
}

/* ---- the kinds ---- */

/* An instance's first slot is itself. */
static inline void instance_of(txMachine *the, txSlot *instance)
{
    if (instance == NULL || is_met(instance))
        return;
    instance->value.instance.garbage = C_NULL;
    push(the, PROPERTIES, instance);
}

static inline void items_of(txMachine *the, const txSlot *items, size_t count)
{
    if (__builtin_expect(list.length + PUSHED_MOST > list.size, 0))
        enlarge(the);
    list.items[list.length++] = count;
    list.items[list.length++] = (uintptr_t)items | ITEMS;
}

/*
 * A generator's stack may have been longer at an earlier suspension. The slots past the
 * present length may be free by now, and snapshots contain the whole chunk. Returns the
 * number of items in use.
 */
static size_t forget_longer_stack(const txSlot *slot, size_t count)
{
    const size_t length = slot->value.stack.length;

    memset(slot->value.stack.address + length, 0, (count - length) * sizeof(txSlot));
    return length;
}

static void array(txMachine *the, txSlot *slot, enum purpose purpose)
{
    txSlot *items = slot->value.array.address;
    txChunk *chunk;
    size_t count;

    if (items == NULL)
        return;
    chunk = chunk_of(items);
    if (purpose == VALUES && (chunk->size & IN_USE))
        return;
    count = (size_t)(txIndex)chunk->size / sizeof(txSlot);
    if (purpose != INDEX && count > slot->value.array.length) {
        if (slot->kind == XS_ARRAY_KIND)
            xs_mark_found_long_array = true;
        else
            count = forget_longer_stack(slot, count);
    }
    /* XS marks it after the items. Until then only slots with the same chunk read the mark. */
    if (purpose == VALUES)
        use_chunk(items);
    if (count > 0)
        items_of(the, items, count);
}

static void weak_ref(txMachine *the, txSlot *slot)
{
    txSlot *target = slot->value.weakRef.target;

    if (target == NULL)
        return;
    if (the->collectFlag & XS_ORGANIC_FLAG) {
        instance_of(the, target);
    } else {
        slot->value.weakRef.link = the->firstWeakRefLink;
        the->firstWeakRefLink = slot;
    }
}

static void host(txMachine *the, txSlot *slot, enum purpose purpose)
{
    if (slot->value.host.data == NULL || purpose == INDEX)
        return;
    if ((slot->flag & XS_HOST_HOOKS_FLAG) && slot->value.host.variant.hooks->marker != NULL)
        slot->value.host.variant.hooks->marker(
            the, slot->value.host.data, purpose == VALUES ? xs_mark_value : xs_mark_reference);
    if (purpose == VALUES && (slot->flag & XS_HOST_CHUNK_FLAG))
        use_chunk(slot->value.host.data);
}

static void entries(const txSlot *slot, enum purpose purpose)
{
    if (purpose == INDEX)
        return;
    for (txInteger i = 0; i < slot->value.table.length; i++)
        for (txSlot *each = slot->value.table.address[i]; each != NULL; each = each->next)
            each->flag |= XS_MARK_FLAG;
    if (purpose == VALUES)
        use_chunk(slot->value.table.address);
}

/* Kinds that refer to chunks only. */
static inline void data(txSlot *slot)
{
    switch (slot->kind) {
    case XS_STRING_KIND:
        use_chunk(slot->value.string);
        break;
    case XS_BIGINT_KIND:
        use_chunk(slot->value.bigint.data);
        break;
    case XS_ARRAY_BUFFER_KIND:
        if (slot->value.arrayBuffer.address != NULL)
            use_chunk(slot->value.arrayBuffer.address);
        break;
    case XS_GLOBAL_KIND:
        use_chunk(slot->value.table.address);
        break;
    case XS_IDS_KIND:
        if (slot->value.IDs != NULL)
            use_chunk(slot->value.IDs);
        break;
    case XS_REGEXP_KIND:
        if (slot->value.regexp.code != NULL)
            use_chunk(slot->value.regexp.code);
        if (slot->value.regexp.data != NULL)
            use_chunk(slot->value.regexp.data);
        break;
    case XS_KEY_KIND:
        if (slot->value.key.string != NULL)
            use_chunk(slot->value.key.string);
        break;
    default:
        break;
    }
}

static inline txSlot *first_half(const txSlot *slot)
{
    switch (slot->kind) {
    case XS_ACCESSOR_KIND:
        return slot->value.accessor.getter;
    case XS_HOME_KIND:
        return slot->value.home.object;
    default:
        return slot->value.proxy.handler;
    }
}

/* The kinds that few slots have. */
__attribute__((always_inline)) static inline void rare_value(txMachine *the, txSlot *slot,
                                                             enum purpose purpose)
{
    switch (slot->kind) {
    case XS_CALLBACK_KIND: /* snapshots never have closures of these */
        if (purpose != INDEX)
            instance_of(the, slot->value.callback.closures);
        break;
    case XS_HOST_KIND:
        host(the, slot, purpose);
        break;
    case XS_MODULE_KIND:
    case XS_PROGRAM_KIND:
        instance_of(the, slot->value.module.realm);
        break;
    case XS_ERROR_KIND:
        instance_of(the, slot->value.error.info);
        break;
    case XS_PRIVATE_KIND:
        push(the, CHAIN, slot->value.private.first);
        instance_of(the, slot->value.private.check);
        break;
    case XS_MAP_KIND:
    case XS_SET_KIND:
        entries(slot, purpose);
        break;
    case XS_WEAK_MAP_KIND:
    case XS_WEAK_SET_KIND:
        push(the, LIST, slot->value.weakList.first);
        break;
    case XS_WEAK_REF_KIND:
        if (purpose != INDEX)
            weak_ref(the, slot);
        break;
    case XS_FINALIZATION_REGISTRY_KIND:
        push(the, HOLDINGS, slot->value.finalizationRegistry.callback);
        break;
    case XS_HOST_INSPECTOR_KIND:
        instance_of(the, slot->value.hostInspector.cache);
        break;
    default:
        if (purpose == VALUES)
            data(slot);
        break;
    }
}

/*
 * Handles the slot itself as XS's marker does. Slots that it refers to are put on the list, the
 * last first. The second of two is checked when it leaves the list, since following the
 * first may have visited it.
 */
__attribute__((always_inline)) static inline void value(txMachine *the, txSlot *slot,
                                                        enum purpose purpose)
{
    for (txSlot *next = NULL;; slot = next, next = NULL) {
        switch (slot->kind) {
        case XS_REFERENCE_KIND:
            instance_of(the, slot->value.reference);
            break;
        case XS_CLOSURE_KIND:
            next = slot->value.closure;
            break;
        case XS_INSTANCE_KIND:
            instance_of(the, slot);
            break;
        case XS_ARGUMENTS_SLOPPY_KIND:
        case XS_ARGUMENTS_STRICT_KIND:
        case XS_ARRAY_KIND:
        case XS_STACK_KIND:
            array(the, slot, purpose);
            break;
        case XS_CODE_KIND:
            if (purpose == VALUES)
                use_chunk(slot->value.code.address);
            /* fallthrough */
        case XS_CODE_X_KIND:
            instance_of(the, slot->value.code.closures);
            break;
        case XS_ACCESSOR_KIND:
        case XS_HOME_KIND:
        case XS_PROXY_KIND:
            push(the, SECOND_HALF, slot);
            instance_of(the, first_half(slot));
            break;
        case XS_EXPORT_KIND:
            push(the, SECOND_HALF, slot);
            next = slot->value.export.closure;
            break;
        case XS_LIST_KIND:
            push(the, LIST, slot->value.list.first);
            break;
        case XS_WEAK_ENTRY_KIND:
            if (is_met(slot->value.weakEntry.check))
                next = slot->value.weakEntry.value;
            break;
        default:
            rare_value(the, slot, purpose);
            break;
        }
        if (__builtin_expect(next == NULL, 1) || is_met(next))
            return;
        meet(next, purpose);
    }
}

static inline void second_half(txMachine *the, const txSlot *slot)
{
    switch (slot->kind) {
    case XS_ACCESSOR_KIND:
        instance_of(the, slot->value.accessor.setter);
        break;
    case XS_HOME_KIND:
        instance_of(the, slot->value.home.module);
        break;
    case XS_PROXY_KIND:
        instance_of(the, slot->value.proxy.target);
        break;
    default:
        instance_of(the, slot->value.export.module);
        break;
    }
}

/* Follows an instance's slots and the slots that they refer to, until one of another kind refers
 * to more. That one is followed first; the list below it has the rest. */
__attribute__((always_inline)) static inline void properties(txMachine *the, txSlot *slot,
                                                             enum purpose purpose)
{
    while (slot != NULL) {
        txSlot *instance = NULL;

        if (is_met(slot)) {
            slot = slot->next;
            continue;
        }
        meet(slot, purpose);
        if (slot->kind == XS_REFERENCE_KIND) {
            instance = slot->value.reference;
        } else if (slot->kind == XS_INSTANCE_KIND) {
            instance = slot->value.instance.prototype;
            if (instance != NULL && has_mark(instance)) /* few, so that caches have them */
                instance = NULL;
        } else if (slot->kind >= XS_REFERENCE_KIND) {
            const size_t before = list.length;
            size_t after;

            push(the, PROPERTIES, slot->next);
            after = list.length;
            value(the, slot, purpose);
            if (list.length > after)
                return;
            list.length = before;
        } else if (purpose == VALUES) {
            data(slot);
        }
        if (instance != NULL && !is_met(instance)) {
            push(the, PROPERTIES, slot->next);
            instance->value.instance.garbage = C_NULL;
            slot = instance;
        } else {
            slot = slot->next;
        }
    }
}

__attribute__((always_inline)) static inline void holdings(txMachine *the, txSlot *slot,
                                                           enum purpose purpose)
{
    meet(slot, purpose);
    push(the, HOLDINGS, slot->next);
    value(the, slot, purpose);
}

/* Follows an array's items until one refers to more. The entry with the remaining items must lie
 * below that one's entries on the list, so two words are kept free for it. */
__attribute__((always_inline)) static inline void items(txMachine *the, txSlot *item,
                                                        enum purpose purpose)
{
    size_t count = list.items[--list.length];
    const size_t before = list.length, above = before + 2;

    while (count > 0 && list.length == before) {
        list.length = above;
        if (__builtin_expect(list.length + PUSHED_MOST > list.size, 0))
            enlarge(the);
        value(the, item++, purpose);
        count--;
        if (list.length == above) {
            list.length = before;
        } else if (count > 0) {
            list.items[before] = count;
            list.items[before + 1] = (uintptr_t)item | ITEMS;
        } else {
            for (size_t i = above; i < list.length; i++)
                list.items[i - 2] = list.items[i];
            list.length -= 2;
        }
    }
}

__attribute__((always_inline)) static inline void take_step(txMachine *the, enum step step,
                                                            txSlot *slot, enum purpose purpose)
{
    switch (step) {
    case PROPERTIES:
        properties(the, slot, purpose);
        break;
    case ITEMS:
        items(the, slot, purpose);
        break;
    case LIST:
        while (slot != NULL && is_met(slot))
            slot = slot->next;
        if (slot == NULL)
            break;
        push(the, LIST, slot->next);
        meet(slot, purpose);
        value(the, slot, purpose);
        break;
    case CHAIN:
        push(the, CHAIN, slot->next);
        meet(slot, purpose);
        value(the, slot, purpose);
        break;
    case SECOND_HALF:
        second_half(the, slot);
        break;
    case HOLDINGS:
        holdings(the, slot, purpose);
        break;
    }
}

/* A host object's marker may call this again: each call empties the list down to its own start. */
__attribute__((always_inline)) static inline void follow(txMachine *the, txSlot *slot,
                                                         enum purpose purpose)
{
    const size_t base = list.length;

    choose_jump_cost(the);
    value(the, slot, purpose);
    while (list.length > base) {
        const uintptr_t entry = list.items[--list.length];

        take_step(the, (enum step)(entry & STEP_BITS), (txSlot *)(entry & ~(uintptr_t)STEP_BITS),
                  purpose);
    }
    if (base == 0) {
        give_back_long_list();
        charge();
    }
}

void xs_mark_value(txMachine *the, txSlot *slot)
{
    follow(the, slot, VALUES);
}

void xs_mark_reference(txMachine *the, txSlot *slot)
{
    follow(the, slot, REFERENCES);
}

void xs_mark_for_snapshot(txMachine *the, txSnapshot *snapshot, txSlot *slot)
{
    numbered = snapshot;
    follow(the, slot, INDEX);
}
