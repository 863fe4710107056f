/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_FLEET_DIRECTORY_FILES_H
#define GASPIPE_SUPERVISOR_FLEET_DIRECTORY_FILES_H

#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "supervisor/fleet/transport.h"

/* Files of a shared directory that appear whole or not at all. Paths are relative to the directory.
 */
struct directory_files {
    int fd;            /* the directory */
    const char *name;  /* for messages; borrowed */
    const char *owner; /* what temporary files are called after; borrowed */
};

/* Whether it is there. */
int directory_files_exist(const struct directory_files *files, const char *path, bool *found,
                          struct error *error);

/* Appends all of a file. */
int directory_files_read(const struct directory_files *files, const char *path, struct buf *content,
                         bool *found, struct error *error);

/*
 * Writes, syncs and names a file. *added is false where one of that name was there, which is left
 * as it is.
 */
int directory_files_add(const struct directory_files *files, const char *path,
                        const struct buf *content, bool *added, struct error *error);

/* The same with what is in another file, from its start. */
int directory_files_add_copy(const struct directory_files *files, const char *path, int content,
                             bool *added, struct error *error);

/* Opens a file to be read; *fd is -1 where there is none. */
int directory_files_open(const struct directory_files *files, const char *path, int *fd,
                         struct error *error);

/* Takes a file away, if it is there. */
int directory_files_remove(const struct directory_files *files, const char *path,
                           struct error *error);

/* Calls each() with the names in a directory of it. */
int directory_files_list(const struct directory_files *files, const char *path, fleet_each *each,
                         void *context, struct error *error);

#endif
