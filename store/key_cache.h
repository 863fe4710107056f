/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_STORE_KEY_CACHE_H
#define GASPIPE_STORE_KEY_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sys/uio.h>

#include "base/buf.h"

/*
 * The kernel's keys, vatstores and transcripts as the transaction has them. A row is read from
 * SQLite once. Changes are written when the transaction is committed, or before a statement reads
 * the table: a key that changes ten times is written once, and one that is deleted again, as a
 * promise's are, is not written at all. A key is any bytes (store/integrity/cached_rows.h).
 *
 * All zeros: empty. Functions that return a number return 0, or -1 if out of memory; then the cache
 * has to be cleared.
 */
struct key_cache {
    struct key_cache_entry **slots; /* chains by hash; NULL: none yet */
    size_t slot_count;              /* a power of two */
    size_t count;
    size_t bytes;    /* of memory, about */
    size_t kept_max; /* beyond it, nothing is kept that the table has; 0: the usual bound */

    struct key_cache_entry *first_unwritten, *last_unwritten; /* in the order of their changes */

    struct key_cache_step *steps; /* since the first savepoint, in order */
    size_t step_count, step_capacity;
    size_t *savepoints; /* how many steps there were when each was set */
    size_t savepoint_count, savepoint_capacity;
    bool lost; /* since the first savepoint, rows unknown here were deleted from the table */

    struct key_cache_entry *first_name, *last_name; /* noted as new, the oldest first */
    size_t name_count;
    struct key_cache_entry *unused; /* free entries, with the memory of their values */
    struct buf *spare_values;       /* free values */
    size_t spare_count;
};

struct key_cache_entry {
    struct key_cache_entry *next, *next_unwritten, *next_name, *name_before;
    uint64_t hash;
    bool known;        /* else read the table */
    bool present;      /* it has a value */
    bool unwritten;    /* the table may have another value */
    bool stored;       /* of a key that is known or unwritten: the table has a row */
    uint64_t checksum; /* of the row; 0: no value */
    bool is_new;       /* see key_cache_note_new() */
    bool once;         /* see key_cache_keep_once() */
    bool leaving;      /* it is forgotten at the end of key_cache_release() */
    size_t step;       /* number of its last step, from 1; may be another entry's by now */
    struct buf value;
    size_t key_length;
    char key[];
};

/* NULL if nothing is known of the key. Valid until the cache changes. */
const struct key_cache_entry *key_cache_find(const struct key_cache *cache, struct iovec key);

/* The key's entry, which may be unknown. NULL if out of memory. Valid until key_cache_wrote(). */
struct key_cache_entry *key_cache_provide(struct key_cache *cache, struct iovec key);

/*
 * The table has this value under the key, in a row with this checksum; NULL: no row. Ignored if the
 * cache is full, and after key_cache_forget() until the savepoints have ended, because an undo
 * would make it wrong.
 */
int key_cache_learn(struct key_cache *cache, struct iovec key, const struct iovec *value,
                    uint64_t checksum);

/* The value is not read again soon: forget it when the table has it and no savepoint is open. */
void key_cache_keep_once(struct key_cache_entry *entry);

/* All rows with this beginning were deleted from the table; none of them was unwritten. */
int key_cache_forget(struct key_cache *cache, struct iovec beginning);

/*
 * The table has neither the key NAME nor a key NAME.…: while the name is among the last ones noted,
 * such keys are not looked for in the table.
 */
int key_cache_note_new(struct key_cache *cache, const char *name);

/* Returns true if the key, or its part before the first dot, was noted. */
bool key_cache_is_new(const struct key_cache *cache, const char *key);

/*
 * Sets the key's value, of a row with this checksum; NULL: deletes it. `was`: whether the table has
 * a row, if the key is not known.
 */
int key_cache_change(struct key_cache *cache, struct key_cache_entry *entry,
                     const struct iovec *value, uint64_t checksum, bool was);

/* Another value was written to the table and is not kept here. `was`: see above. */
int key_cache_pass(struct key_cache *cache, struct key_cache_entry *entry, bool was);

/* The first unwritten entry; NULL if none is left. */
struct key_cache_entry *key_cache_unwritten(const struct key_cache *cache);

/* Notes that the entry was written. Forgets it if it has no value and no savepoint is open. */
int key_cache_wrote(struct key_cache *cache);

/* Between transactions: forgets the oldest new names. */
void key_cache_trim(struct key_cache *cache);

/* Undoing brings back what was known at the savepoint; the caller rolls the table back. */
int key_cache_savepoint(struct key_cache *cache);
void key_cache_undo(struct key_cache *cache);
void key_cache_release(struct key_cache *cache);

/* Forgets everything, also savepoints and unwritten values, and frees the memory. */
void key_cache_clear(struct key_cache *cache);

#endif
