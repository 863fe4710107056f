/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_STORE_INTEGRITY_CACHED_ROWS_H
#define GASPIPE_STORE_INTEGRITY_CACHED_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/uio.h>

#include "base/buf.h"
#include "base/error.h"
#include "store/integrity/rows.h"

struct store;

/*
 * Rows that go through the cache (store/key_cache.h): the kernel's keys, vatstores and transcripts.
 * Changes reach their tables with the commit, or through key_writes_finish().
 *
 * A place is a row's key in the cache (row_write_place()). Functions that return a number return 0,
 * or -1 with ERROR_SYSTEM.
 */

/* The row's place, valid until the next call. */
int cached_row_place(struct store *store, const struct row *row, struct iovec *place,
                     struct error *error);

struct cached_row {
    struct iovec place;
    const struct row *row;
    const char *name; /* the kernel's key, which may be noted as new; NULL: another row */
    bool is_new;      /* the table certainly has no such row */
    bool once;        /* it is not read again soon */
};

/* Appends the value of the row, and caches it. */
int cached_row_get(struct store *store, const struct cached_row *wanted, struct buf *value,
                   bool *found, struct error *error);

/* Sets the row, or deletes it; *change: its checksums before and after. */
int cached_row_change(struct store *store, const struct cached_row *wanted, bool present,
                      struct row_change *change, struct error *error);

/* Before all rows of the row's vat are deleted from its table: writes those that are only cached,
 * and forgets them here. */
int cached_rows_lose(struct store *store, const struct row *row, struct error *error);

/*
 * Rows that were taken out of the cache and are to be written to their tables; the cache may change
 * meanwhile. All zeros: none. Functions that take a store return 0, or -1 with ERROR_SYSTEM; then
 * the transaction has to be rolled back.
 */
struct key_writes {
    struct key_write *writes;
    size_t count, capacity;
    struct buf bytes; /* keys and values, without gaps */
};

/* Takes the unwritten rows of the cache, which counts them as written. Replaces those gathered
 * before. */
int key_writes_gather(struct key_writes *writes, struct store *store, struct error *error);

/* Writes them. */
int key_writes_perform(const struct key_writes *writes, struct store *store, struct error *error);

/* Both: before any statement reads a table other than by a row's key. */
int key_writes_finish(struct store *store, struct error *error);

void key_writes_free(struct key_writes *writes);

#endif
