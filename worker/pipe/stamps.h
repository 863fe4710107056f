/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_WORKER_PIPE_STAMPS_H
#define GASPIPE_WORKER_PIPE_STAMPS_H

#include <stddef.h>

#include "base/stamp.h"

/* The stamps of one delivery's frames: the first STAMPS_MAX, which are of 32,767 requests. */
enum { STAMPS_MAX = 1 << 16 };
struct stamps {
    struct stamp *items;
    size_t count;
    size_t capacity;
    size_t left_out; /* behind these */
    struct stamp last;
};

/*
 * Adds the present moment; `real` counts from the list's first. 0, or -1 when memory ran
 * out.
 */
int stamps_take(struct stamps *stamps);

/* The one taken last; one was taken since the list was empty. */
static inline struct stamp stamps_last(const struct stamps *stamps)
{
    return stamps->last;
}

/* Takes the last one back; stamps_last() is not known, then. */
static inline void stamps_drop_last(struct stamps *stamps)
{
    if (stamps->left_out > 0)
        stamps->left_out--;
    else
        stamps->count--;
}

/* Empties the list and keeps its memory, so that taking one costs no more than
 * reading a clock. */
void stamps_clear(struct stamps *stamps);

void stamps_free(struct stamps *stamps);

#endif
