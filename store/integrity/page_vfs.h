/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_STORE_INTEGRITY_PAGE_VFS_H
#define GASPIPE_STORE_INTEGRITY_PAGE_VFS_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/*
 * Checksums of the pages of a store's file, in a layer between SQLite and its files: a flipped
 * bit in a page that leads to a row would hide the row, which no checksum of rows detects.
 *
 * SQLite keeps the last 8 bytes of each page free for it: there stands XXH3 (64 bits) of the rest,
 * seeded with the page's number. It is written with each page, and after page_vfs_check() checked
 * when SQLite reads one; a page of zeros was never written. Frames of the write-ahead log have
 * checksums of SQLite's own. An edit with another program leaves the checksums behind.
 *
 * The layer also writes the write-ahead log with one write for each commit instead of two for each
 * page.
 */

#define PAGE_VFS_NAME "gaspipe-pages"

enum { PAGE_VFS_RESERVED = 8 };

/* Makes the layer known to SQLite; once is enough, and more do no harm. */
int page_vfs_register(struct error *error);

/* Has SQLite keep the bytes free in a database that is still empty. */
int page_vfs_reserve(sqlite3 *database, struct error *error);

/* Checks each page that is read after this call. */
void page_vfs_check(sqlite3 *database);

/* True if a page that was read unchecked (the first is, to open the file) had a wrong checksum. */
bool page_vfs_is_suspect(sqlite3 *database);

/*
 * Reads all pages of the file as they are on the disk; *damaged: how many do not match. With
 * `repair` these get the checksums that they should have, on the disk when it returns.
 */
int page_vfs_scan(sqlite3 *database, bool repair, int64_t *damaged, struct error *error);

/* What a read of a damaged page fails with. No I/O error: on these SQLite rolls the transaction
 * back, and the vats that do not need the page could not continue. */
#define PAGE_VFS_DAMAGED (SQLITE_CORRUPT | 0x67 << 8)

/* The page whose checksum was wrong last, from 1: for the message about a read that failed with
 * PAGE_VFS_DAMAGED. */
int64_t page_vfs_damaged(void);

#endif
