/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_WORKER_XS_SNAPSHOT_XS_AS_LOADED_H
#define GASPIPE_WORKER_XS_SNAPSHOT_XS_AS_LOADED_H

#include <stdbool.h>
#include <stddef.h>

#include "worker/xs/garbage/xs_sweep_count.h"

/* A snapshot that was just written. */
struct xs_written {
    size_t size;                 /* of the whole */
    size_t signature;            /* the length of its signature */
    size_t slots;                /* so many are in it */
    struct xs_sweep_count found; /* by the collection of garbage in front of it */
};

/*
 * Whether the machine that wrote this snapshot goes on exactly as one would that is loaded from it:
 * the same computrons, the same numbers of slots and bytes in use, garbage collections at the same
 * moments, and the same snapshots later.
 *
 * All that depends on how much of the heap is in use, and not on where what is in it lies. So it is
 * as loaded if the heap has nothing that the snapshot has not, is one piece of slots and one of
 * chunks, as it is loaded, and nothing waits outside of it. It matters in one place where chunks
 * lie: the last one can grow where it is. But each command allocates the chunk of its message first
 * and keeps it, so none of those that are there now is the last one when it runs.
 */
bool xs_as_loaded(const void *machine, const struct xs_written *written);

#endif
