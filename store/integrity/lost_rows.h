/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_STORE_INTEGRITY_LOST_ROWS_H
#define GASPIPE_STORE_INTEGRITY_LOST_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "store/integrity/rows.h"

struct store;

/*
 * Marks of the vats whose vatstores lost rows when a file was made again (rebuild.c). Which keys
 * they had is not known, so of such a vat only rows that are there can be read: that one is missing
 * is no answer. Marks are keys, "store.lost.vN", which the vat's end removes, and "store.lost",
 * until the kernel has added up its state again.
 *
 * Functions return 0, or -1 with ERROR_SYSTEM.
 */

/* Writes the mark of the vat past the cache and the running hashes. */
int lost_rows_mark(struct store *store, int64_t vat, struct error *error);

/* When a store is opened: looks if any vat is marked. */
int lost_rows_look(struct store *store, struct error *error);

/* For a row of a vatstore that is not found: -1 if the vat is marked. */
int lost_rows_check(struct store *store, const struct row *row, struct error *error);

/* *marked: the vat is; then `name` is the key of the mark. */
enum { LOST_ROWS_NAME_SIZE = 40 };
int lost_rows_find(struct store *store, int64_t vat, char name[LOST_ROWS_NAME_SIZE], bool *marked,
                   struct error *error);

#endif
