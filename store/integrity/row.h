/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_STORE_INTEGRITY_ROW_H
#define GASPIPE_STORE_INTEGRITY_ROW_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/buf.h"
#include "base/error.h"

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

#endif
