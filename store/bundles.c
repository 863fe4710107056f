/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "store/integrity/rows.h"
#include "store/store_internal.h"

static struct row bundles_row_of(const char *id)
{
    return (struct row){.table = ROW_BUNDLE, .key = {(void *)(uintptr_t)id, strlen(id)}};
}

static int bundles_put(struct store *store, const struct row *row, struct error *error)
{
    struct row_change change;

    if (rows_look(store, row, &change, error) != 0)
        return -1;
    return change.was ? 0 : rows_put(store, row, &change, error);
}

int store_bundle_put(struct store *store, const char *id, struct iovec json, struct error *error)
{
    struct row row = bundles_row_of(id);
    bool own;

    row.value = json;
    if (transaction_enter(store, &own, error) != 0)
        return -1;
    return transaction_leave(store, own, bundles_put(store, &row, error), error);
}

int store_bundle_get(struct store *store, const char *id, struct buf *json, bool *found,
                     struct error *error)
{
    const struct row row = bundles_row_of(id);

    return rows_get(store, &row, json, found, error);
}
