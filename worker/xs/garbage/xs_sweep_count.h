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

#endif
