/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_STORE_SNAPSHOT_SNAPSHOT_BYTES_H
#define GASPIPE_STORE_SNAPSHOT_SNAPSHOT_BYTES_H

#include <sys/uio.h>

#include "base/buf.h"
#include "base/error.h"
#include "store/store.h"

/* A snapshot's bytes on their way: compressed with zstd, and hashed as they are. */

/* Appends what is read from `fd` up to its end, compressed, and fills *snapshot. */
int snapshot_bytes_pack(int fd, struct buf *compressed, struct store_snapshot *snapshot,
                        struct error *error);

/*
 * Writes what `compressed` holds to `fd`. -1 with ERROR_SYSTEM, also when it does
 * not come to the hash.
 */
int snapshot_bytes_unpack(struct iovec compressed, const char *hash, int fd, struct error *error);

#endif
