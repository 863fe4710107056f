/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_STORE_INTEGRITY_RUNNING_SUMS_H
#define GASPIPE_STORE_INTEGRITY_RUNNING_SUMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

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
