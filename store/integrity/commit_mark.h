/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_STORE_INTEGRITY_COMMIT_MARK_H
#define GASPIPE_STORE_INTEGRITY_COMMIT_MARK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

/*
 * A file next to the store's with the sum of all running hashes as of the last commit.
 *
 * The hazard: SQLite takes a damaged write-ahead log for one that a power failure cut off, and
 * silently returns to the commit before the damage. Then the store's sum differs from the mark's.
 *
 *      commit_mark_announce()    writes last, next
 *      SQLite's COMMIT           the store has `last` before it and `next` after it
 *      commit_mark_confirm()     last = next
 *
 * The mark is not synced, which would cost as much as the commit, so it holds until the machine
 * restarts. It also records size and time of the store's file when it was closed: a file that was
 * changed or copied since has all its pages read once. Functions return 0, or -1 with ERROR_SYSTEM.
 */
enum { COMMIT_MARK_BOOT_SIZE = 36 };

struct commit_mark {
    int fd;              /* 0: no mark, for a store in memory or one that is only read */
    uint64_t last, next; /* totals; one of them is committed; set before commit_mark_open() */
    dev_t device;        /* of the store's file when it was opened, like the inode */
    ino_t inode;
    char boot[COMMIT_MARK_BOOT_SIZE]; /* Linux's identifier of this boot */
};

/* Makes the file when it is missing. `path` is the store's file. */
int commit_mark_open(struct commit_mark *mark, const char *path, struct error *error);

/* -1 if neither total of the mark is `total`. *untouched: the store's file is as it was closed. */
int commit_mark_check(const char *path, uint64_t total, bool *untouched, struct error *error);

/* Before a commit, with the total after it; and after the commit. */
int commit_mark_announce(struct commit_mark *mark, uint64_t total, struct error *error);
int commit_mark_confirm(struct commit_mark *mark, struct error *error);

/* -1 if the path no longer leads to the file that commit_mark_open() found. */
int commit_mark_still_there(const struct commit_mark *mark, const char *path, struct error *error);

/* After the store was closed. Closes the mark. Not `sound`: a page did not match its checksum; the
 * next store_open() reads all pages. */
void commit_mark_close(struct commit_mark *mark, const char *path, bool sound);

#endif
