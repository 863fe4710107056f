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
    const char *owner; /* part of the names of temporary files; borrowed */
};

/* *found: the file exists. */
int directory_files_exist(const struct directory_files *files, const char *path, bool *found,
                          struct error *error);

/* Appends all of a file. */
int directory_files_read(const struct directory_files *files, const char *path, struct buf *content,
                         bool *found, struct error *error);

/*
 * Writes, syncs and names a file. *added is false if a file of that name exists, which stays
 * as it is.
 */
int directory_files_add(const struct directory_files *files, const char *path,
                        const struct buf *content, bool *added, struct error *error);

/* The same with the content of another file, from its start. */
int directory_files_add_copy(const struct directory_files *files, const char *path, int content,
                             bool *added, struct error *error);

/* Opens a file for reading; *fd is -1 if it does not exist. */
int directory_files_open(const struct directory_files *files, const char *path, int *fd,
                         struct error *error);

/* Removes a file, if it exists. */
int directory_files_remove(const struct directory_files *files, const char *path,
                           struct error *error);

/* Calls each() with the names in a directory of it. */
int directory_files_list(const struct directory_files *files, const char *path, fleet_each *each,
                         void *context, struct error *error);

#endif
