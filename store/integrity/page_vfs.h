/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_STORE_INTEGRITY_PAGE_VFS_H
#define GASPIPE_STORE_INTEGRITY_PAGE_VFS_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "store/integrity/sealed_bytes.h"

/*
 * A layer between SQLite and its files, which adds a checksum to each page of the database. A
 * flipped bit in an index page would hide rows, which no checksum of a row detects.
 *
 * SQLite keeps the last 8 bytes of each page free. They hold XXH3 (64 bits) of the rest, seeded
 * with the page's number. Each write of a page sets it; after page_vfs_check(), each read checks
 * it. Frames of the write-ahead log have SQLite's own checksums.
 * A page of which a disk changed one byte is corrected by its checksum when it is read, with a line
 * on stderr. A page that another program changed has a wrong checksum.
 *
 * The layer also appends each commit to the write-ahead log in one write instead of two a page.
 */

#define PAGE_VFS_NAME "gaspipe-pages"

enum { PAGE_VFS_RESERVED = SEAL_SIZE };

/* Registers the layer with SQLite. May be repeated. */
int page_vfs_register(struct error *error);

/* Has SQLite keep the bytes free in a database that is still empty. */
int page_vfs_reserve(sqlite3 *database, struct error *error);

/*
 * Decides at the first damaged page that is read whether pages are used in spite of their
 * checksums: true only if the rows have been checked by other means, over another connection. With
 * `repairs` all pages then get the checksums that they should have.
 */
struct page_judge {
    bool (*trusts)(void *context);
    void *context;
    bool repairs;
};

/* Checks each page that is read after this call. judge NULL: a damaged page is never used. */
void page_vfs_check(sqlite3 *database, const struct page_judge *judge);

/* True if a page that was read had a wrong checksum, and was not repaired. */
bool page_vfs_is_suspect(sqlite3 *database);

struct page_counts {
    int64_t damaged; /* they do not match */
    int64_t empty;   /* zeros: a disk lost them, or SQLite never wrote and does not use them */
};

/*
 * Reads all pages of the file as they are on the disk. With `repair` those that it counts get the
 * checksums that they should have, on the disk when it returns.
 */
int page_vfs_scan(sqlite3 *database, bool repair, struct page_counts *pages, struct error *error);

/* The result of reading a damaged page. Not an I/O error, after which SQLite would roll the whole
 * transaction back and stop the vats that do not need the page. */
#define PAGE_VFS_DAMAGED (SQLITE_CORRUPT | 0x67 << 8)

/* The page whose checksum was wrong last, from 1: for the message about a read that failed with
 * PAGE_VFS_DAMAGED. */
int64_t page_vfs_damaged(void);

#endif
