/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_FLEET_SCRATCH_FOLDER_H
#define GASPIPE_SUPERVISOR_FLEET_SCRATCH_FOLDER_H

#include <limits.h>

#include "base/error.h"

/*
 * A worker's folder in TMPDIR for what its replays read. The worker has a file in it locked as long
 * as it lives, so the next one can tell those of workers that were killed, and removes them.
 */
struct scratch_folder {
    char path[PATH_MAX];
    int lock; /* -1: there is none */
};

/* Makes it, and removes abandoned ones. -1 with ERROR_SYSTEM; scratch_folder_close() in any case.
 */
int scratch_folder_open(struct scratch_folder *folder, struct error *error);

/* Removes the files in a folder. What cannot be removed is in the way of nothing but room. */
void scratch_folder_clear(const char *path);

/* Removes it. */
void scratch_folder_close(struct scratch_folder *folder);

#endif
