/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_FLEET_SCRATCH_DIRECTORY_H
#define GASPIPE_SUPERVISOR_FLEET_SCRATCH_DIRECTORY_H

#include <limits.h>

#include "base/error.h"

/*
 * A worker's directory in TMPDIR for its replays' files. The worker keeps a file in it locked, so
 * that other workers recognise and remove directories of workers that were killed.
 */
struct scratch_directory {
    char path[PATH_MAX];
    int lock; /* -1: not open */
};

/* Makes it, and removes abandoned ones. -1 with ERROR_SYSTEM; scratch_directory_close() in any
 * case.
 */
int scratch_directory_open(struct scratch_directory *directory, struct error *error);

/* Removes the files in a directory. Files that cannot be removed only take space. */
void scratch_directory_clear(const char *path);

/* Removes it. */
void scratch_directory_close(struct scratch_directory *directory);

#endif
