/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_STORE_INTEGRITY_CHECK_H
#define GASPIPE_STORE_INTEGRITY_CHECK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/buf.h"
#include "base/error.h"
#include "store/integrity/rows.h"
#include "store/store.h"

/*
 * Reads all of a store and compares it with its checksums and running hashes. Call it within a
 * transaction, to read one state throughout. Functions return 0 if all was read, whatever was
 * found; -1 with the error filled if something could not be read.
 */
struct store_check {
    void *context;
    /* Once for each problem. NULL: not needed. */
    void (*damaged)(void *context, const char *line);
    /* `rows` were read so far; called every PROGRESS_ROWS rows. NULL: not needed. */
    void (*progress)(void *context, int64_t rows);
    /* For each vat whose rows, with the checksums that are kept with them, are not those that its
     * running hash counts. NULL: these are problems. */
    void (*differs)(void *context, const struct vat_sum *found, const struct vat_sum *kept);

    /* The functions fill these; the caller sets them to zero. */
    int64_t rows, snapshots, problems;
    bool keys_whole;      /* all of the kernel's keys but those of vats were read and are whole */
    struct error general; /* the first problem that concerns all vats */
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

/* Reads all rows. -1 with a problem that concerns all vats: a damaged key of the kernel, or rows
 * that were added, deleted or set back. */
int store_require_usable(struct store *store, struct error *error);

/*
 * Checks when a store is opened: its last commits are there, and, unless its file is as it was
 * closed, all pages match their checksums. Afterwards each page is checked when it is read.
 *
 * A page that does not match was changed by the disk, by another program, or by a power failure in
 * a checkpoint. Then all rows are checked, over a connection of its own, with a line on stderr:
 *
 * - A damaged key of the kernel that is no vat's, or missing rows: the store is refused when it is
 *   opened.
 * - The structure of the file is whole: the page is used and gets the right checksum. A damaged row
 *   is found by its own checksum when a vat needs it, and concerns that vat only.
 * - Else the file is made again from its rows (rebuild.c) when it is opened next for writing. Rows
 *   on lost pages are gone, which concerns the vats that need them only.
 * - If that is impossible, the page is not used, and concerns all vats that need it.
 *
 * 0, or -1 with ERROR_SYSTEM for a store that is damaged.
 */

/* With the lock on the directory. Opens the mark of the last commit. */
int inspect_store(struct store *store, struct error *error);

/* For a reader, which changes nothing: while a run has the store, pages are only checked as they
 * are read. */
int inspect_reader(struct store *store, const char *directory, struct error *error);

/* ---- rebuild.c ---- */

/* Rows and contents that were lost with pages of a file. */
struct store_losses {
    int64_t rows;     /* of vats */
    struct buf vats;  /* which, "v1, v3"; the caller frees it */
    int64_t contents; /* snapshots' contents, bundles */
    bool hashes;      /* running hashes: what else was lost, they do not say */
};

/*
 * Makes the file of a store again from those of its rows that can be read. For the process that
 * writes the store, before anything in it is in use.
 *
 * *rebuilt is false and the file unchanged if a key of the kernel is damaged or lost, or if it is
 * not known what was lost. -1 with ERROR_SYSTEM: the file could not be written; it is as it was.
 */
int store_rebuild(struct store *store, struct store_losses *losses, bool *rebuilt,
                  struct error *error);

#endif
