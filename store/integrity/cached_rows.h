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
 * Rows that go through the cache (store/key_cache.h): the kernel's keys, vats' stores, and
 * transcripts. Their tables get what changes with the commit, or from key_writes_finish().
 *
 * A place names a row in the cache (row_write_place()). Functions that
 * return a number return 0, or -1 with ERROR_SYSTEM.
 */

/* Of a row that a vat's store or a transcript has. Good until the next call. */
int cached_row_place(struct store *store, const struct row *row, struct iovec *place,
                     struct error *error);

struct cached_row {
    struct iovec place;
    const struct row *row;
    const char *name; /* of a kernel's key that may be noted as new; NULL: of none */
    bool is_new;      /* the table certainly has no such row */
    bool once;        /* nobody asks for it soon */
};

/* Appends the value of the row, and keeps it in mind. */
int cached_row_get(struct store *store, const struct cached_row *wanted, struct buf *value,
                   bool *found, struct error *error);

/* Gives the row its value, or has it go; *change: its checksums before and now. */
int cached_row_change(struct store *store, const struct cached_row *wanted, bool present,
                      struct row_change *change, struct error *error);

/* Before the table loses all rows of the row's vat, it gets those that it does not have, and here
 * nothing is known of them any more. */
int cached_rows_lose(struct store *store, const struct row *row, struct error *error);

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
