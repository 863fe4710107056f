/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_STORE_KEY_CACHE_H
#define GASPIPE_STORE_KEY_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sys/uio.h>

#include "base/buf.h"

/*
 * What the table of keys is known to hold, so that a key that was read or
 * written before is not asked of SQLite again: values, and that there is none.
 * Since the table always has the truth, undoing only forgets the entries that
 * changed since the savepoint.
 *
 * A cache that is all zeros is empty. Functions return 0, or -1 when memory ran
 * out: the cache then has to be cleared.
 */
struct key_cache {
    struct key_cache_entry **slots; /* chains by hash; NULL: none yet */
    size_t slot_count;              /* a power of two */
    size_t count;
    size_t bytes; /* what all of it takes, about */

    struct key_cache_entry **changed; /* since the first savepoint, in order; some twice */
    size_t changed_count, changed_capacity;
    size_t *savepoints; /* how many had changed when each was set */
    size_t savepoint_count, savepoint_capacity;
};

struct key_cache_entry {
    struct key_cache_entry *next;
    uint64_t hash;
    bool known;        /* else ask the table */
    bool present;      /* there is a value */
    uint64_t checksum; /* of its row; 0: there is none */
    struct buf value;
    size_t key_length;
    char key[];
};

/* NULL when nothing is known of the key. Good until the cache changes. */
const struct key_cache_entry *key_cache_find(const struct key_cache *cache, const char *key);

/* The table has this value under the key, in a row with this checksum; NULL: it has none. */
int key_cache_learn(struct key_cache *cache, const char *key, const struct iovec *value,
                    uint64_t checksum);

/* The same for a change, which key_cache_undo() is to forget. */
int key_cache_change(struct key_cache *cache, const char *key, const struct iovec *value,
                     uint64_t checksum);

int key_cache_savepoint(struct key_cache *cache);
void key_cache_undo(struct key_cache *cache);
void key_cache_release(struct key_cache *cache);

/* Forgets everything, savepoints too, and gives the memory back. */
void key_cache_clear(struct key_cache *cache);

#endif
