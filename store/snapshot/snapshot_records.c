/* SPDX-License-Identifier: Apache-2.0 */
#include "store/snapshot/snapshot_records.h"

#include <string.h>

#include "store/integrity/page_vfs.h"
#include "store/integrity/rows.h"
#include "store/store_internal.h"

struct row snapshot_content_row(const struct store_snapshot *snapshot)
{
    return (struct row){.table = ROW_CONTENT,
                        .numbers = {snapshot->size, snapshot->compressed_size},
                        .key = {(void *)(uintptr_t)snapshot->hash, strlen(snapshot->hash)}};
}

int snapshot_content_put(struct store *store, const struct store_snapshot *snapshot,
                         struct iovec compressed, struct error *error)
{
    const struct row row = snapshot_content_row(snapshot);
    struct row_change change;

    if (rows_look(store, &row, &change, error) != 0)
        return -1;
    return change.was ? 0 : rows_put_with(store, &row, compressed, &change, error);
}

/* Contents that are not referred to. SQLite cannot free one with a damaged page: it stays, or its
 * vat could not be ended, upgraded or released, and no other one saved. */
static int sweep_contents(struct store *store, struct error *error)
{
    uint64_t sum;

    if (rows_delete_all(store, STATEMENT_CONTENT_UNUSED, STATEMENT_CONTENT_SWEEP, 0, &sum, error) ==
        0)
        return 0;
    return sqlite3_extended_errcode(store->database) == PAGE_VFS_DAMAGED ? 0 : -1;
}

int snapshot_sweep(struct store *store, int64_t vat, int kept, struct error *error)
{
    static const enum statement which[] = {STATEMENT_SNAPSHOT_OLD, STATEMENT_SNAPSHOT_SWEEP};
    uint64_t sum;

    for (size_t i = 0; i < sizeof which / sizeof *which; i++) {
        statement_bind_integer(store, which[i], 1, vat);
        statement_bind_integer(store, which[i], 2, kept);
    }
    if (rows_delete_all(store, which[0], which[1], vat, &sum, error) != 0)
        return -1;
    return sweep_contents(store, error);
}

int snapshot_record_put(struct store *store, const struct row *row, struct error *error)
{
    struct row_change change;

    if (rows_look(store, row, &change, error) != 0 || rows_put(store, row, &change, error) != 0)
        return -1;
    return row->table == ROW_SNAPSHOT
               ? snapshot_sweep(store, row->numbers[0], SNAPSHOTS_KEPT, error)
               : sweep_contents(store, error);
}
