/* SPDX-License-Identifier: Apache-2.0 */
#include "counter/pairs.h"

#include <stdbool.h>
#include <stdlib.h>

#define FIRST_ROOM 1024 /* a power of two, as all that follow */

/* The finalizer of MurmurHash3 (Appleby, public domain), over both numbers. */
static uint64_t hash(uint64_t a, uint64_t b)
{
    uint64_t h = a * 0x9e3779b97f4a7c15 ^ b;

    h = (h ^ h >> 33) * 0xff51afd7ed558ccd;
    h = (h ^ h >> 33) * 0xc4ceb9fe1a85ec53;
    return h ^ h >> 33;
}

/* Where the pair is, or would be: there is always an empty slot. */
static size_t place_of(const struct pairs *pairs, uint64_t a, uint64_t b)
{
    size_t at = hash(a, b) & (pairs->room - 1);

    while (pairs->is_used[at] && (pairs->slots[at].a != a || pairs->slots[at].b != b))
        at = (at + 1) & (pairs->room - 1);
    return at;
}

static bool grow(struct pairs *pairs)
{
    struct pairs larger = {.room = pairs->room > 0 ? 2 * pairs->room : FIRST_ROOM};

    larger.slots = calloc(larger.room, sizeof *larger.slots);
    larger.is_used = calloc(larger.room, sizeof *larger.is_used);
    if (larger.slots == NULL || larger.is_used == NULL) {
        pairs_free(&larger);
        return false;
    }
    for (size_t from = 0; from < pairs->room; from++) {
        size_t to;

        if (!pairs->is_used[from])
            continue;
        to = place_of(&larger, pairs->slots[from].a, pairs->slots[from].b);
        larger.slots[to] = pairs->slots[from];
        larger.is_used[to] = 1;
        larger.count++;
    }
    pairs_free(pairs);
    *pairs = larger;
    return true;
}

struct pair *pairs_find(struct pairs *pairs, uint64_t a, uint64_t b)
{
    size_t at;

    /* Never more than three quarters full. */
    if (4 * pairs->count >= 3 * pairs->room && !grow(pairs))
        return NULL;
    at = place_of(pairs, a, b);
    if (!pairs->is_used[at]) {
        pairs->is_used[at] = 1;
        pairs->slots[at] = (struct pair){a, b, 0};
        pairs->count++;
    }
    return &pairs->slots[at];
}

struct pair *pairs_next(const struct pairs *pairs, size_t *at)
{
    while (*at < pairs->room) {
        size_t here = (*at)++;

        if (pairs->is_used[here])
            return &pairs->slots[here];
    }
    return NULL;
}

void pairs_free(struct pairs *pairs)
{
    free(pairs->slots);
    free(pairs->is_used);
    *pairs = (struct pairs){0};
}
