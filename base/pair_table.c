/* SPDX-License-Identifier: Apache-2.0 */
#include "base/pair_table.h"

#include <stdbool.h>
#include <stdlib.h>

#define FIRST_CAPACITY 1024 /* a power of two, like all later sizes */

/* The finalizer of MurmurHash3 (Appleby, public domain), over both numbers. */
static uint64_t hash(uint64_t a, uint64_t b)
{
    uint64_t h = a * 0x9e3779b97f4a7c15 ^ b;

    h = (h ^ h >> 33) * 0xff51afd7ed558ccd;
    h = (h ^ h >> 33) * 0xc4ceb9fe1a85ec53;
    return h ^ h >> 33;
}

/* Returns the pair's slot, or the empty slot where it belongs. There is always an empty slot. */
static size_t pair_table_place_of(const struct pair_table *pairs, uint64_t a, uint64_t b)
{
    size_t at = hash(a, b) & (pairs->capacity - 1);

    while (pairs->is_used[at] && (pairs->slots[at].a != a || pairs->slots[at].b != b))
        at = (at + 1) & (pairs->capacity - 1);
    return at;
}

static bool pair_table_make(struct pair_table *table, size_t capacity)
{
    *table = (struct pair_table){
        .slots = calloc(capacity, sizeof *table->slots),
        .is_used = calloc(capacity, sizeof *table->is_used),
        .capacity = capacity,
    };
    if (table->slots != NULL && table->is_used != NULL)
        return true;
    pair_table_free(table);
    return false;
}

static bool grow_table(struct pair_table *pairs)
{
    struct pair_table old = *pairs, larger;

    if (!pair_table_make(&larger, old.capacity > 0 ? 2 * old.capacity : FIRST_CAPACITY))
        return false;
    for (size_t from = 0; from < old.capacity; from++) {
        size_t to;

        if (!old.is_used[from])
            continue;
        to = pair_table_place_of(&larger, old.slots[from].a, old.slots[from].b);
        larger.slots[to] = old.slots[from];
        larger.is_used[to] = 1;
        larger.count++;
    }
    *pairs = larger;
    pair_table_free(&old);
    return true;
}

struct pair *pair_table_find(struct pair_table *pairs, uint64_t a, uint64_t b)
{
    size_t at;

    /* Never more than three quarters full. */
    if (4 * pairs->count >= 3 * pairs->capacity && !grow_table(pairs))
        return NULL;
    at = pair_table_place_of(pairs, a, b);
    if (!pairs->is_used[at]) {
        pairs->is_used[at] = 1;
        pairs->slots[at] = (struct pair){a, b, 0};
        pairs->count++;
    }
    return &pairs->slots[at];
}

uint64_t pair_table_value(const struct pair_table *pairs, uint64_t a, uint64_t b)
{
    size_t at;

    if (pairs->count == 0)
        return 0;
    at = pair_table_place_of(pairs, a, b);
    return pairs->is_used[at] ? pairs->slots[at].value : 0;
}

struct pair *pair_table_next(const struct pair_table *pairs, size_t *at)
{
    while (*at < pairs->capacity) {
        size_t here = (*at)++;

        if (pairs->is_used[here])
            return &pairs->slots[here];
    }
    return NULL;
}

void pair_table_free(struct pair_table *pairs)
{
    free(pairs->slots);
    free(pairs->is_used);
    *pairs = (struct pair_table){0};
}
