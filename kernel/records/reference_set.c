/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/records/reference_set.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

enum { FIRST_SLOTS = 64 };

/* FNV-1a, http://www.isthe.com/chongo/tech/comp/fnv/ */
static uint64_t hash_of(const char *kref)
{
    uint64_t hash = 14695981039346656037U;

    for (; *kref != '\0'; kref++)
        hash = (hash ^ (unsigned char)*kref) * 1099511628211U;
    return hash;
}

/* The slot that has the kref, or the free one for it. slot_count is a power of two. */
static size_t find_slot(const struct reference_set *set, const char *kref)
{
    size_t slot = hash_of(kref) & (set->slot_count - 1);

    while (set->slots[slot] != 0 && strcmp(set->items[set->slots[slot] - 1], kref) != 0)
        slot = (slot + 1) & (set->slot_count - 1);
    return slot;
}

/* Keeps at least half of the slots free. */
static int reserve_slots(struct reference_set *set, struct error *error)
{
    size_t count = set->slot_count == 0 ? FIRST_SLOTS : set->slot_count * 2;
    size_t *slots;

    if (set->count * 2 < set->slot_count)
        return 0;
    slots = calloc(count, sizeof *slots);
    if (slots == NULL)
        return error_memory(error, "a set of references");
    free(set->slots);
    set->slots = slots;
    set->slot_count = count;
    for (size_t i = 0; i < set->count; i++)
        set->slots[find_slot(set, set->items[i])] = i + 1;
    return 0;
}

int reference_set_add(struct reference_set *set, const char *kref, struct error *error)
{
    char(*items)[KERNEL_REF_SIZE];
    size_t slot;

    if (reserve_slots(set, error) != 0)
        return -1;
    slot = find_slot(set, kref);
    if (set->slots[slot] != 0)
        return 0;
    items = array_reserve(set->items, &set->capacity, set->count + 1, sizeof *items);
    if (items == NULL)
        return error_memory(error, "a set of references");
    set->items = items;
    strncpy(set->items[set->count], kref, KERNEL_REF_SIZE - 1);
    set->items[set->count][KERNEL_REF_SIZE - 1] = '\0';
    set->slots[slot] = ++set->count;
    return 0;
}

bool reference_set_has(const struct reference_set *set, const char *kref)
{
    return set->slot_count > 0 && set->slots[find_slot(set, kref)] != 0;
}

void reference_set_clear(struct reference_set *set)
{
    if (set->count == 0)
        return;
    memset(set->slots, 0, set->slot_count * sizeof *set->slots);
    set->count = 0;
}

void reference_set_free(struct reference_set *set)
{
    free(set->items);
    free(set->slots);
    memset(set, 0, sizeof *set);
}
