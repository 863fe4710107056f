/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_STORE_INTEGRITY_CHECK_H
#define GASPIPE_STORE_INTEGRITY_CHECK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/error.h"
#include "store/store.h"

/*
 * Reads all of a store and compares it with its checksums and running hashes. Call it within a
 * transaction, to read one state throughout. Functions return 0 if all was read, whatever was
 * found; -1 with the error filled if something could not be read.
 */
struct store_check {
    void *context;
    void (*damaged)(void *context, const char *line); /* once for each problem */
    /* `rows` were read so far; called every PROGRESS_ROWS rows. NULL: not needed. */
    void (*progress)(void *context, int64_t rows);

    int64_t rows, snapshots, problems; /* the functions count; the caller sets them to 0 */
};

/* Each row and each vat's running hash. */
int store_check_rows(struct store *store, struct store_check *check, struct error *error);

/* *sum: of the checksums computed from all rows of vatstores, and from the kernel's keys for which
 * counts() returns true; modulo 2^64. */
int store_sum_state(struct store *store, bool (*counts)(struct iovec key), uint64_t *sum,
                    struct error *error);

/* -1 with ERROR_SYSTEM if that is not `sum`, which the last crank left. */
int store_require_state(struct store *store, bool (*counts)(struct iovec key), uint64_t sum,
                        struct error *error);

/* The structure of the file, as SQLite's integrity_check reports it, and the tables' definitions.
 */
int store_check_file(struct store *store, struct store_check *check, struct error *error);

/* Each snapshot exists, unpacks, and matches its hash. */
int store_check_snapshots(struct store *store, struct store_check *check, struct error *error);

/* store_check_rows() that returns -1 with the first problem. */
int store_require_whole(struct store *store, struct error *error);

/*
 * Checks when a store is opened: its last commits are there, and, unless its file is as it was
 * closed, all pages match their checksums. If one does not, another program may have changed it, or
 * a power failure interrupted a checkpoint. Then all rows are checked; if they are whole, the page
 * gets the right checksum, with a line on stderr. Afterwards each page is checked when it is read.
 *
 * 0, or -1 with ERROR_SYSTEM for a store that is damaged.
 */

/* With the lock on the directory. Opens the mark of the last commit. */
int inspect_store(struct store *store, struct error *error);

/* For a reader, which changes nothing: while a run has the store, pages are only checked as they
 * are read. */
int inspect_reader(struct store *store, const char *directory, struct error *error);

#endif
