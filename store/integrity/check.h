/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_STORE_INTEGRITY_CHECK_H
#define GASPIPE_STORE_INTEGRITY_CHECK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/error.h"
#include "store/store.h"

/*
 * Reads all of a store and compares it with its checksums and running hashes. Within a
 * transaction, for one state throughout. Functions return 0 when all was read, whatever was
 * found; -1 with the error filled if it could not be read, which the caller may take for damage.
 */
struct store_check {
    void *context;
    /* One line for each thing that is wrong. */
    void (*damaged)(void *context, const char *line);
    /* So many rows were read so far, called after some thousands; NULL: not needed. */
    void (*progress)(void *context, int64_t rows);

    int64_t rows, snapshots, problems; /* counted; the caller sets them to 0 */
};

/* Each row and each vat's running hash. */
int store_check_rows(struct store *store, struct store_check *check, struct error *error);

/* *sum: of the checksums that all rows of vats' stores should have, and those of the kernel's keys
 * that counts() is true for, modulo 2^64. */
int store_sum_state(struct store *store, bool (*counts)(struct iovec key), uint64_t *sum,
                    struct error *error);

/* -1 with ERROR_SYSTEM if it is not this sum, which the last crank left. */
int store_require_state(struct store *store, bool (*counts)(struct iovec key), uint64_t sum,
                        struct error *error);

/* The structure of the file and its tables, as SQLite's integrity_check does. */
int store_check_file(struct store *store, struct store_check *check, struct error *error);

/* That each snapshot is there, unpacks, and comes to its hash. */
int store_check_snapshots(struct store *store, struct store_check *check, struct error *error);

/* store_check_rows() for those who only go on with a whole store: -1 with the first damage. */
int store_require_whole(struct store *store, struct error *error);

struct store;

/*
 * What is checked of a store when it is opened: that its last commits are there; and unless its
 * file is as it was left, all its pages. A page that does not match may come from another program
 * that had the file open, or from a checkpoint that a power failure cut off: then all rows are
 * checked, and if these are whole, the page gets the checksum that it should have, with a line on
 * stderr. From then on each page is checked when it is read.
 *
 * 0, or -1 with ERROR_SYSTEM for a store that is damaged.
 */

/* For the one that holds the lock on the folder. Opens the mark of the last commit. */
int inspect_store(struct store *store, struct error *error);

/* For a reader, which changes nothing: while a run has the store, pages are only checked as they
 * are read. */
int inspect_reader(struct store *store, const char *folder, struct error *error);

#endif
