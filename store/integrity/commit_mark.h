/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_STORE_INTEGRITY_COMMIT_MARK_H
#define GASPIPE_STORE_INTEGRITY_COMMIT_MARK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

/*
 * What was committed last, in a file beside the store's: the sum of all running hashes. SQLite
 * takes a damaged write-ahead log for one that was cut off by a power failure, and silently goes
 * back to what stands before the damage; then the store's sum is not that of the mark.
 *
 * The mark is not synced, which would cost as much as the commit: it holds until the machine is
 * started again. It also tells whether the store's file is the one that was closed last, or was
 * changed or copied since and all its pages are to be read once. Functions return 0, or -1 with
 * ERROR_SYSTEM.
 */
enum { COMMIT_MARK_BOOT_SIZE = 36 };

struct commit_mark {
    int fd;              /* 0: none is kept, of a store in memory or one that is only read */
    uint64_t last, next; /* totals; one of them is committed; set before commit_mark_open() */
    dev_t device;        /* the store's file when it was opened; */
    ino_t inode;
    char boot[COMMIT_MARK_BOOT_SIZE]; /* which start of the machine this is */
};

/* Makes the file when it is missing. `path` is the store's file. */
int commit_mark_open(struct commit_mark *mark, const char *path, struct error *error);

/*
 * -1 if the file's mark says that something else was committed than what comes to `total`.
 * *untouched: the store's file is as it was left.
 */
int commit_mark_check(const char *path, uint64_t total, bool *untouched, struct error *error);

/* Around a commit: what it will come to, and that it is durable. */
int commit_mark_announce(struct commit_mark *mark, uint64_t total, struct error *error);
int commit_mark_confirm(struct commit_mark *mark, struct error *error);

/* -1 if another file or none stands at the path of the store, which is in use. */
int commit_mark_still_there(const struct commit_mark *mark, const char *path, struct error *error);

/* After the store was closed. Closes the mark. */
void commit_mark_close(struct commit_mark *mark, const char *path);

#endif
