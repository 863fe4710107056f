/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_STORE_INTEGRITY_ROWS_H
#define GASPIPE_STORE_INTEGRITY_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "store/integrity/row.h"
#include "store/statements.h"

/*
 * Rows written and read with their checksums, and the running hashes of their vats changed
 * along with them. All tables of the store but that of the running hashes are changed through
 * here. Functions return 0, or -1 with ERROR_SYSTEM.
 *
 * What finds a row in its table: the key and, of a vat's own store, a transcript and a
 * vat's snapshot, the numbers.
 */

/* A row's checksum before and after a change; 0 and false: there is no such row. */
struct row_change {
    bool was, is;
    uint64_t before, after;
};

/* Finds `was` and `before` of a change that is to come. */
int rows_look(struct store *store, const struct row *row, struct row_change *change,
              struct error *error);

/* Writes the row in the place of the one that rows_look() found; fills the rest of the change. */
int rows_put(struct store *store, const struct row *row, struct row_change *change,
             struct error *error);

/* The same for a row with bytes that the checksum does not cover: a snapshot's content. */
int rows_put_with(struct store *store, const struct row *row, struct iovec bytes,
                  struct row_change *change, struct error *error);

/*
 * A change of a row that its table gets later (store/key_writes.h): fills `is` and `after`, and
 * changes the running hash. present: the row has a value.
 */
int rows_change_later(struct store *store, const struct row *row, bool present,
                      struct row_change *change, struct error *error);

/* Deletes it, if rows_look() found it. */
int rows_delete(struct store *store, const struct row *row, struct row_change *change,
                struct error *error);

/* What was changed later, with its checksum: writes it to its table, or deletes it there. */
int rows_write(struct store *store, const struct row *row, uint64_t checksum, struct error *error);
int rows_erase(struct store *store, const struct row *row, struct error *error);

/*
 * Deletes all rows of a vat, or whatever the two statements find: the first gives their
 * checksums, the second deletes them. Both are bound by the caller with the same values. *sum:
 * that of their checksums.
 */
int rows_delete_all(struct store *store, enum statement look, enum statement delete, int64_t vat,
                    uint64_t *sum, struct error *error);

/* Appends the value of the row, checked; row->value is filled only for the check. */
int rows_get(struct store *store, const struct row *row, struct buf *value, bool *found,
             struct error *error);

/*
 * Steps a statement that gives a key, a value and a checksum, or nothing; appends the key, once
 * it is checked. `row` has the table and the numbers.
 */
int rows_take_key(struct store *store, enum statement which, struct row *row, struct buf *key,
                  bool *found, struct error *error);

#endif
