/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_WORKER_XS_GARBAGE_XS_SWEEP_COUNT_H
#define GASPIPE_WORKER_XS_GARBAGE_XS_SWEEP_COUNT_H

#include <stdbool.h>
#include <stddef.h>

/* What a collection of garbage has found among the slots in use. */
struct xs_sweep_count {
    bool known;     /* there was one */
    bool unsaved;   /* there is something that a snapshot has not, other than the next ones: */
    size_t entries; /* of tables of Maps and Sets, */
    size_t keys;    /* which have so many keys */
};

/* Where the next collections put it; NULL: they do not count, and are what they are for XS. */
extern struct xs_sweep_count *xs_sweep_count;

/*
 * Fills with zeros what chunks have left behind, in a heap with one block of them and right after a
 * collection. XS leaves some chunks unfilled (the text of a BigInt), and a snapshot has all of
 * their bytes: those of a heap that was loaded are zeros.
 */
void xs_sweep_clear(void *machine);

#endif
