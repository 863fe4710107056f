/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_STORE_INTEGRITY_PAGE_VFS_H
#define GASPIPE_STORE_INTEGRITY_PAGE_VFS_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/*
 * Checksums of the pages of a store's file, in a layer between SQLite and its files: a flipped
 * bit in a page that leads to a row would hide the row, of which no checksum tells.
 *
 * SQLite keeps the last 8 bytes of each page free for it: there stands XXH3 (64 bits) of the rest,
 * seeded with the page's number. It is written with each page, and after page_vfs_check() checked
 * when SQLite reads one; a page of zeros was never written. Frames of the write-ahead log have
 * checksums of SQLite's own. An edit with another program leaves the checksums behind.
 */

#define PAGE_VFS_NAME "gaspipe-pages"

enum { PAGE_VFS_RESERVED = 8 };

/* Makes the layer known to SQLite; once is enough, and more do no harm. */
int page_vfs_register(struct error *error);

/* Has SQLite keep the bytes free in a database that is still empty. */
int page_vfs_reserve(sqlite3 *database, struct error *error);

/* From now on each page that is read is checked. */
void page_vfs_check(sqlite3 *database);

/* Whether a page that was read without being checked, as the first is to open the file, has no
 * right checksum. */
bool page_vfs_is_suspect(sqlite3 *database);

/*
 * Reads all pages of the file as they are on the disk; *damaged: how many do not match. With
 * `repair` these get the checksums that they should have, on the disk when it returns.
 */
int page_vfs_scan(sqlite3 *database, bool repair, int64_t *damaged, struct error *error);

/* What a read of a damaged page fails with. No I/O error: on these SQLite rolls the transaction
 * back, and the vats that do not need the page could not go on. */
#define PAGE_VFS_DAMAGED (SQLITE_CORRUPT | 0x67 << 8)

/* The page whose checksum was wrong last, from 1: for the words on a read that failed with
 * PAGE_VFS_DAMAGED. */
int64_t page_vfs_damaged(void);

/*
 * SQLite's write-ahead log, written with one write for each commit instead of two for each page:
 * what is appended is kept until the page that ends the commit comes, or somebody looks at the
 * file. Others see a commit only after that (SQLite publishes it when all of it is written), and a
 * failure is that page's.
 */

/* Room for it, with the system's file behind. */
int log_file_size(const sqlite3_vfs *system);

/* As xOpen of the system's layer, which it calls. */
int log_file_open(sqlite3_vfs *system, sqlite3_filename name, sqlite3_file *file, int flags,
                  int *flags_found);

#endif
