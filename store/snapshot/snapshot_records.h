/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_STORE_SNAPSHOT_SNAPSHOT_RECORDS_H
#define GASPIPE_STORE_SNAPSHOT_SNAPSHOT_RECORDS_H

#include "base/error.h"
#include "store/integrity/row.h"
#include "store/store.h"

/* Snapshots as they are kept. Within a transaction. */

/* The sizes are bound by the checksum, the bytes by their hash, which is borrowed. */
struct row snapshot_content_row(const struct store_snapshot *snapshot);

/* Keeps a content that is packed already; not a second time. */
int snapshot_content_put(struct store *store, const struct store_snapshot *snapshot,
                         struct iovec compressed, struct error *error);

/* Which content is a vat's snapshot, or the one of that name: ROW_SNAPSHOT or ROW_NAMED. */
int snapshot_record_put(struct store *store, const struct row *row, struct error *error);

/* Drops contents that nobody refers to any more. */
int snapshot_sweep(struct store *store, struct error *error);

#endif
