/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_RUNTIME_PREPARED_START_H
#define GASPIPE_SUPERVISOR_RUNTIME_PREPARED_START_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/error.h"
#include "store/store.h"

/*
 * The warm snapshot of SwingSet's runtime that the build has made of the worker beside the
 * programs, so that no run has to. The file begins with a line "NAME SHA-256 SIZE\n": the name that
 * warm_start.c gives the snapshot in stores, which is a hash of the worker and the runtime, and the
 * snapshot's own; behind it stands the snapshot, compressed with zstd.
 */
#define PREPARED_START_FILE "swingset-warm.heap"

/* Writes the file at `path`, of what is read from `fd` up to its end. 0, or -1 with ERROR_SYSTEM.
 */
int prepared_start_write(const char *path, const char *name, int fd, struct error *error);

/*
 * Fills *snapshot and appends its compressed bytes if the file has the snapshot of that name, and
 * writes what they unpack to to `fd`, once its hash is right. Else *found is false: there is no
 * such file, it belongs to another worker or runtime, or it is damaged. -1 with ERROR_SYSTEM:
 * memory ran out, or `fd` cannot be written.
 */
int prepared_start_read(const char *name, int fd, struct buf *compressed,
                        struct store_snapshot *snapshot, bool *found, struct error *error);

#endif
