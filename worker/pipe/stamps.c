/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/pipe/stamps.h"

#include <stdlib.h>

enum { STAMPS_FIRST_CAPACITY = 512 };

static int stamps_grow(struct stamps *stamps)
{
    size_t capacity = stamps->capacity ? stamps->capacity * 2 : STAMPS_FIRST_CAPACITY;
    struct stamp *items = reallocarray(stamps->items, capacity, sizeof *items);

    if (items == NULL)
        return -1;
    stamps->items = items;
    stamps->capacity = capacity;
    return 0;
}

static int stamps_add(struct stamps *stamps, struct stamp now)
{
    stamps->last = now;
    if (stamps->count == STAMPS_MAX) {
        stamps->left_out++;
        return 0;
    }
    if (stamps->count == stamps->capacity && stamps_grow(stamps) != 0)
        return -1;
    stamps->items[stamps->count++] = now;
    return 0;
}

int stamps_take(struct stamps *stamps)
{
    /* The clocks come first: growing the list must not show in the times. */
    return stamps_add(stamps, stamps->count == 0 ? stamp_now() : stamp_after(stamps->items[0]));
}

void stamps_clear(struct stamps *stamps)
{
    stamps->count = stamps->left_out = 0;
}

void stamps_free(struct stamps *stamps)
{
    free(stamps->items);
    *stamps = (struct stamps){0};
}
