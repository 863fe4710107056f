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
 * What names a row among those of all tables that can be cached: of the kernel's keys the key; else
 * the table's number, which no kernel's key begins with, the numbers, and the key. Not whole: as
 * far as all rows of the vat in that table have it in common.
 */
void row_write_place(const struct row *row, bool whole, struct buf *place);

/* The table, numbers and key of the place's row; the key lies in the place. */
struct row row_at_place(struct iovec place);

uint64_t row_checksum(const struct row *row);

/* The vat that a row belongs to: of the kernel's keys those that begin with "vN."; 0: none. */
int64_t row_vat(const struct row *row);

/* -1 with ERROR_SYSTEM, which names the store, the vat and the key, if the checksum is not the
 * row's. */
int row_check(const struct store *store, const struct row *row, uint64_t checksum,
              struct error *error);

/* Fills the error for that row with what is wrong with it. Returns -1. */
int row_damaged(const struct store *store, const struct row *row, const char *problem,
                struct error *error);

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
 * A change of a row that its table gets later (store/integrity/cached_rows.h): fills `is` and
 * `after`, and changes the running hash. present: the row has a value.
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

struct store;

/*
 * For each vat a hash of all its rows, and one of the rows that belong to no vat (vat 0): the
 * sum of the rows' checksums, modulo 2^64. It depends on which rows there are and on nothing
 * else, and follows each change without reading the other rows: a row that was deleted, added
 * or set back to an older value behind the store's back makes it wrong.
 *
 * Read when they are first needed, changed in memory, and written when a transaction is
 * committed. All zeros: none is known yet. Functions return 0, or -1 with ERROR_SYSTEM.
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

/* To add to a vat's: counts may be negative, sums wrap around. */
int running_sums_add(struct store *store, const struct vat_sum *change, struct error *error);

int running_sums_savepoint(struct running_sums *sums, struct error *error);
void running_sums_undo(struct running_sums *sums);
void running_sums_release(struct running_sums *sums);

/* Takes those that changed, which count as written from then on, in place of what was taken before.
 */
int running_sums_gather(struct running_sums *sums, struct sum_writes *writes, struct error *error);

/* Writes them. */
int running_sums_write(struct store *store, const struct sum_writes *writes, struct error *error);

/* As the store holds it, zeros where it has none. */
int running_sums_read(struct store *store, int64_t vat, struct vat_sum *sum, struct error *error);

/* The sum of all vats' sums in the store. */
int running_sums_read_total(struct store *store, uint64_t *total, struct error *error);

/* Forgets all; the total is the caller's to set again. */
void running_sums_clear(struct running_sums *sums);

#endif
