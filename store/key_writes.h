/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_STORE_KEY_WRITES_H
#define GASPIPE_STORE_KEY_WRITES_H

#include <stddef.h>

#include "base/buf.h"
#include "base/error.h"

struct store;

/*
 * What the tables of the kernel's keys, of vats' stores and of transcripts do not have yet: taken
 * out of the cache (store/key_cache.h), so that it can be written while the cache changes. All
 * zeros: nothing.
 *
 * Functions that take a store return 0, or -1 with ERROR_SYSTEM: then the transaction has to be
 * rolled back.
 */
struct key_writes {
    struct key_write *writes;
    size_t count, capacity;
    struct buf bytes; /* keys and values, one behind the other */
};

/* Takes what the cache has; to the cache it is written. Replaces what was gathered before. */
int key_writes_gather(struct key_writes *writes, struct store *store, struct error *error);

/* Writes what was gathered. */
int key_writes_perform(const struct key_writes *writes, struct store *store, struct error *error);

/*
 * Both: brings the tables to what the cache has, before anybody reads them but by a key's name.
 */
int key_writes_finish(struct store *store, struct error *error);

void key_writes_free(struct key_writes *writes);

#endif
