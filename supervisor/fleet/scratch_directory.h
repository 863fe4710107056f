/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_FLEET_SCRATCH_DIRECTORY_H
#define GASPIPE_SUPERVISOR_FLEET_SCRATCH_DIRECTORY_H

#include <limits.h>

#include "base/error.h"

/*
 * A worker's directory in TMPDIR for what its replays read. The worker has a file in it locked as
 * long as it lives, so the next one can tell those of workers that were killed, and removes them.
 */
struct scratch_directory {
    char path[PATH_MAX];
    int lock; /* -1: there is none */
};

/* Makes it, and removes abandoned ones. -1 with ERROR_SYSTEM; scratch_directory_close() in any
 * case.
 */
int scratch_directory_open(struct scratch_directory *directory, struct error *error);

/* Removes the files in a directory. What cannot be removed is in the way of nothing but room. */
void scratch_directory_clear(const char *path);

/* Removes it. */
void scratch_directory_close(struct scratch_directory *directory);

#endif
