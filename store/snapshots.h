/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_STORE_SNAPSHOTS_H
#define GASPIPE_STORE_SNAPSHOTS_H

#include <sys/uio.h>

#include "base/buf.h"
#include "base/error.h"
#include "store/integrity/rows.h"
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

/* Snapshots as they are kept. Within a transaction. */

/* Of each vat: the last one, and one to fall back on where that cannot be restored. */
enum { SNAPSHOTS_KEPT = 2 };

/* The sizes are bound by the checksum, the bytes by their hash, which is borrowed. */
struct row snapshot_content_row(const struct store_snapshot *snapshot);

/* Keeps a content that is packed already; not a second time. */
int snapshot_content_put(struct store *store, const struct store_snapshot *snapshot,
                         struct iovec compressed, struct error *error);

/* Which content is a vat's snapshot, or the one of that name: ROW_SNAPSHOT or ROW_NAMED. Of a vat's
 * snapshots this one and the one before are kept, and only contents that are referred to. */
int snapshot_record_put(struct store *store, const struct row *row, struct error *error);

/* Deletes the vat's snapshots but the `kept` last ones, and contents that are not referred to. */
int snapshot_sweep(struct store *store, int64_t vat, int kept, struct error *error);

#endif
