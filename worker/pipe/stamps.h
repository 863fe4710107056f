/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_WORKER_PIPE_STAMPS_H
#define GASPIPE_WORKER_PIPE_STAMPS_H

#include <stddef.h>

#include "base/stamp.h"

/* The stamps of one delivery's frames, as many as there are. */
struct stamps {
    struct stamp *items;
    size_t count;
    size_t capacity;
};

/*
 * Adds the present moment; `real` counts from the list's first. 0, or -1 when memory ran
 * out.
 */
int stamps_take(struct stamps *stamps);

/* The one taken last; one was taken since the list was empty. */
static inline struct stamp stamps_last(const struct stamps *stamps)
{
    return stamps->items[stamps->count - 1];
}

/* Empties the list and keeps its memory, so that taking one costs no more than
 * reading a clock. */
void stamps_clear(struct stamps *stamps);

void stamps_free(struct stamps *stamps);

#endif
