/* SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "meter/pass/ir/pointer_set.h"

#define FIRST_CAPACITY 64

void *pass_allocate(size_t count, size_t size)
{
    void *memory = calloc(count > 0 ? count : 1, size);

    if (!memory) {
        fputs("gaspipe-meter: out of memory\n", stderr);
        exit(4);
    }
    return memory;
}

/* Where the pointer is, or the free place where it would be. */
static struct pointer_set_entry *pointer_set_place_of(const struct pointer_set *set,
                                                      const void *pointer)
{
    uint64_t hash = ((uintptr_t)pointer >> 4) * UINT64_C(0x9e3779b97f4a7c15);
    size_t i = (size_t)(hash >> 32) & (set->capacity - 1);

    while (set->entries[i].pointer && set->entries[i].pointer != pointer)
        i = (i + 1) & (set->capacity - 1);
    return &set->entries[i];
}

static void grow(struct pointer_set *set)
{
    struct pointer_set old = *set;

    set->capacity = old.capacity > 0 ? 2 * old.capacity : FIRST_CAPACITY;
    set->entries = pass_allocate(set->capacity, sizeof *set->entries);
    for (size_t i = 0; i < old.capacity; i++)
        if (old.entries[i].pointer)
            *pointer_set_place_of(set, old.entries[i].pointer) = old.entries[i];
    free(old.entries);
}

void pointer_set_add(struct pointer_set *set, const void *pointer, size_t number)
{
    struct pointer_set_entry *entry;

    if (2 * (set->count + 1) > set->capacity)
        grow(set);
    entry = pointer_set_place_of(set, pointer);
    if (!entry->pointer)
        set->count++;
    *entry = (struct pointer_set_entry){pointer, number};
}

bool pointer_set_find(const struct pointer_set *set, const void *pointer, size_t *number)
{
    const struct pointer_set_entry *entry;

    if (set->capacity == 0)
        return false;
    entry = pointer_set_place_of(set, pointer);
    if (number && entry->pointer)
        *number = entry->number;
    return entry->pointer != NULL;
}

void pointer_set_free(struct pointer_set *set)
{
    free(set->entries);
    *set = (struct pointer_set){0};
}
