/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_STORE_KEY_CACHE_H
#define GASPIPE_STORE_KEY_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sys/uio.h>

#include "base/buf.h"

/*
 * The kernel's keys as the transaction has them, vats' own keys, and entries of transcripts: what
 * was read or written before is not asked of SQLite again, and what changes is written to the table
 * when the transaction is committed, or somebody else reads the table. A key that changes ten times
 * is written once; one that comes and goes, as a promise's do, is not written at all. A key is any
 * bytes (store/integrity/cached_rows.h).
 *
 * A cache that is all zeros is empty. Functions that return a number return 0, or -1 when memory
 * ran out: the cache then has to be cleared.
 */
struct key_cache {
    struct key_cache_entry **slots; /* chains by hash; NULL: none yet */
    size_t slot_count;              /* a power of two */
    size_t count;
    size_t bytes;    /* what all of it takes, about */
    size_t kept_max; /* beyond it nothing is kept that the table has; 0: the usual bound */

    struct key_cache_entry *first_unwritten, *last_unwritten; /* in the order of their changes */

    struct key_cache_step *steps; /* since the first savepoint, in order */
    size_t step_count, step_capacity;
    size_t *savepoints; /* how many steps there were when each was set */
    size_t savepoint_count, savepoint_capacity;
    bool lost; /* since the first savepoint the table has lost keys that are not known here */

    struct key_cache_entry *first_name, *last_name; /* noted as new, the oldest first */
    size_t name_count;
    struct key_cache_entry *unused; /* entries for the next keys, with the memory of their values */
    struct buf *spare_values;       /* those of steps that are over, for the next changes */
    size_t spare_count;
};

struct key_cache_entry {
    struct key_cache_entry *next, *next_unwritten, *next_name, *name_before;
    uint64_t hash;
    bool known;        /* else ask the table */
    bool present;      /* there is a value */
    bool unwritten;    /* the table may have something else */
    bool stored;       /* of a key that is known or unwritten: the table has a row */
    uint64_t checksum; /* of the row that the value makes; 0: there is none */
    bool is_new;       /* see key_cache_note_new() */
    bool once;         /* see key_cache_keep_once() */
    bool leaving;      /* the last savepoint is being released, and nothing is known afterwards */
    size_t step;       /* the last one that has its value, from 1; those may be others' by now */
    struct buf value;
    size_t key_length;
    char key[];
};

/* NULL when nothing is known of the key. Good until the cache changes. */
const struct key_cache_entry *key_cache_find(const struct key_cache *cache, struct iovec key);

/* The key's entry, in which nothing may be known of it. NULL when memory ran out. Good until the
 * table has what it does not have now. */
struct key_cache_entry *key_cache_provide(struct key_cache *cache, struct iovec key);

/*
 * The table has this value under the key, in a row with this checksum; NULL: it has none. Not kept
 * where undoing could make it wrong, after key_cache_forget(), or where the cache is large already.
 */
int key_cache_learn(struct key_cache *cache, struct iovec key, const struct iovec *value,
                    uint64_t checksum);

/* Nobody asks for the key's value soon: it is forgotten once the table has it for good. */
void key_cache_keep_once(struct key_cache_entry *entry);

/* The table has lost all keys with this beginning; it had them all as they are here. */
int key_cache_forget(struct key_cache *cache, struct iovec beginning);

/*
 * The table has no key of this name, and none whose part before the first dot it is; such keys are
 * not asked of it while the name is one of the last that were noted.
 */
int key_cache_note_new(struct key_cache *cache, const char *name);

/* Of a name, or of a key whose first part is one. */
bool key_cache_is_new(const struct key_cache *cache, const char *key);

/*
 * The key has this value from now on, which makes a row with this checksum; NULL: it has none.
 * `was`: of a key that is not known, whether the table has a row.
 */
int key_cache_change(struct key_cache *cache, struct key_cache_entry *entry,
                     const struct iovec *value, uint64_t checksum, bool was);

/* The table has been given another value of the key, which is not kept here. `was`: see above. */
int key_cache_pass(struct key_cache *cache, struct key_cache_entry *entry, bool was);

/* The first that the table does not have as it is. NULL: there is none. */
struct key_cache_entry *key_cache_unwritten(const struct key_cache *cache);

/* The table has that first one now. Without a savepoint, one that has no value is forgotten. */
int key_cache_wrote(struct key_cache *cache);

/* Between transactions: forgets the oldest of the names that were noted as new. */
void key_cache_trim(struct key_cache *cache);

/* Undoing, which rolls the table back too, brings back what was known at the savepoint. */
int key_cache_savepoint(struct key_cache *cache);
void key_cache_undo(struct key_cache *cache);
void key_cache_release(struct key_cache *cache);

/* Forgets everything, savepoints and what is not written too, and gives the memory back. */
void key_cache_clear(struct key_cache *cache);

#endif
