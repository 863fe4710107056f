/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_STORE_FORMAT_LOG_FILE_H
#define GASPIPE_STORE_FORMAT_LOG_FILE_H

#include <sqlite3.h>

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
