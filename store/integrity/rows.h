/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_STORE_INTEGRITY_ROWS_H
#define GASPIPE_STORE_INTEGRITY_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/buf.h"
#include "base/error.h"
#include "store/statements.h"

struct store;

/*
 * A row of any table of the store, and the checksum that is kept with it: XXH3 (64 bits) over
 * the table, the numbers, the key and the value. A value that was damaged, or that stands in
 * another place than the one it was written to, does not match.
 */
enum row_table {
    ROW_KEY = 1,    /* key, value */
    ROW_VATSTORE,   /* vat; key, value */
    ROW_TRANSCRIPT, /* vat, incarnation, position; value */
    ROW_SNAPSHOT,   /* vat, incarnation, position; value: the hash */
    ROW_NAMED,      /* key: the name; value: the hash */
    ROW_CONTENT,    /* size, compressed size; key: the hash, which stands for the bytes */
    ROW_BUNDLE,     /* key: the bundle's name; value */
    ROW_SUM,        /* vat, number of rows, sum */
};

struct row {
    enum row_table table;
    int64_t numbers[3]; /* as above; the others are 0 */
    struct iovec key, value;
};

/*
 * Appends the row's place, its key in the cache: for a kernel's key the key itself; for others the
 * table's number (no kernel's key begins with such a byte), the numbers and the key. Not `whole`:
 * only the beginning that all rows of the vat in that table share.
 */
void row_write_place(const struct row *row, bool whole, struct buf *place);

/* The table, numbers and key of the place's row; the key lies in the place. */
struct row row_at_place(struct iovec place);

uint64_t row_checksum(const struct row *row);

/* The vat that a row belongs to, also of a kernel's key "vN.…"; 0: none. */
int64_t row_vat(const struct row *row);

/* -1 with ERROR_SYSTEM, which names the store, the vat and the key, if the checksum is not the
 * row's. */
int row_check(const struct store *store, const struct row *row, uint64_t checksum,
              struct error *error);

/* Fills the error for that row with what is wrong with it. Returns -1. */
int row_damaged(const struct store *store, const struct row *row, const char *problem,
                struct error *error);

/*
 * Write and read rows with their checksums, and change the running hashes of their vats. All tables
 * but that of the running hashes are changed through these functions, which return 0, or -1 with
 * ERROR_SYSTEM.
 *
 * A row is found by its key; in a vatstore, a transcript or a vat's snapshots also by its numbers.
 */

/* A row's checksum before and after a change; 0 and false: there is no such row. */
struct row_change {
    bool was, is;
    uint64_t before, after;
};

/* Fills `was` and `before`. */
int rows_look(struct store *store, const struct row *row, struct row_change *change,
              struct error *error);

/* Writes the row, over the one that rows_look() found; fills the rest of the change. */
int rows_put(struct store *store, const struct row *row, struct row_change *change,
             struct error *error);

/* The same for a row with bytes that the checksum does not cover: a snapshot's content. */
int rows_put_with(struct store *store, const struct row *row, struct iovec bytes,
                  struct row_change *change, struct error *error);

/*
 * A change of a row that its table gets later (store/integrity/cached_rows.h): fills `is` and
 * `after`, and changes the running hash. present: the row has a value.
 */
int rows_change_later(struct store *store, const struct row *row, bool present,
                      struct row_change *change, struct error *error);

/* Deletes it, if rows_look() found it. */
int rows_delete(struct store *store, const struct row *row, struct row_change *change,
                struct error *error);

/* Later: writes the row with its checksum to its table, or deletes it there. */
int rows_write(struct store *store, const struct row *row, uint64_t checksum, struct error *error);
int rows_erase(struct store *store, const struct row *row, struct error *error);

/*
 * Deletes the rows of a vat that two statements find: the first gives their checksums, the second
 * deletes them. The caller binds both. *sum: of the checksums.
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

/*
 * The running hash of a vat is the sum of its rows' checksums, modulo 2^64; rows of no vat belong
 * to vat 0. It depends only on the rows, and a change of one needs no other. It differs if another
 * program deleted or added a row, or restored an older value.
 *
 * The sums are read when first needed, changed in memory, and written by a commit. All zeros: none
 * is known yet. Functions return 0, or -1 with ERROR_SYSTEM.
 */
struct vat_sum {
    int64_t vat;
    int64_t rows;
    uint64_t sum;
};

struct running_sums {
    struct running_sum *sums; /* those that were needed, in the order of their vats */
    size_t count, capacity;
    uint64_t total; /* of all vats, changed along; see commit_mark.h */

    struct vat_sum *changes; /* since the first savepoint, in order: what was added */
    size_t change_count, change_capacity;
    size_t *savepoints; /* how many changes there were when each was set */
    size_t savepoint_count, savepoint_capacity;
};

/* Sums that are to be written. All zeros: none. */
struct sum_writes {
    struct vat_sum *sums;
    size_t count, capacity;
};

int running_sums_savepoint(struct running_sums *sums, struct error *error);
void running_sums_undo(struct running_sums *sums);
void running_sums_release(struct running_sums *sums);

/* Takes the sums that changed, and counts them as written. Replaces those taken before. */
int running_sums_gather(struct running_sums *sums, struct sum_writes *writes, struct error *error);

/* Writes them. */
int running_sums_write(struct store *store, const struct sum_writes *writes, struct error *error);

/* The vat's sum in the table; zeros if it has none. */
int running_sums_read(struct store *store, int64_t vat, struct vat_sum *sum, struct error *error);

/* The sum of all vats' sums in the store. */
int running_sums_read_total(struct store *store, uint64_t *total, struct error *error);

/* Forgets all; the caller sets the total again. */
void running_sums_clear(struct running_sums *sums);

#endif
