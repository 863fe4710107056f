/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "store/store_internal.h"

static int report_vat_change(struct store *store, char what, int64_t vat, struct iovec key,
                             struct iovec value, struct error *error)
{
    if (store->changed == NULL)
        return 0;
    buf_clear(&store->scope);
    buf_printf(&store->scope, "v%" PRId64 ".vs.", vat);
    buf_append(&store->scope, key.iov_base, key.iov_len);
    if (buf_failed(&store->scope))
        return error_memory(error, "a change of the store");
    store->changed(store->changed_context, what,
                   (struct iovec){store->scope.data, store->scope.length}, value);
    return 0;
}

static void bind_key(struct store *store, enum statement which, int64_t vat, struct iovec key)
{
    statement_bind_integer(store, which, 1, vat);
    statement_bind_blob(store, which, 2, key);
}

int store_vat_get(struct store *store, int64_t vat, struct iovec key, struct buf *value,
                  bool *found, struct error *error)
{
    bind_key(store, STATEMENT_VAT_GET, vat, key);
    return statement_take_blob(store, STATEMENT_VAT_GET, value, found, error);
}

int store_vat_set(struct store *store, int64_t vat, struct iovec key, struct iovec value,
                  struct error *error)
{
    bind_key(store, STATEMENT_VAT_SET, vat, key);
    statement_bind_blob(store, STATEMENT_VAT_SET, 3, value);
    if (statement_run(store, STATEMENT_VAT_SET, error) != 0)
        return -1;
    return report_vat_change(store, STORE_SET, vat, key, value, error);
}

int store_vat_delete(struct store *store, int64_t vat, struct iovec key, struct error *error)
{
    bind_key(store, STATEMENT_VAT_DELETE, vat, key);
    if (statement_run(store, STATEMENT_VAT_DELETE, error) != 0)
        return -1;
    return report_vat_change(store, STORE_DELETED, vat, key, (struct iovec){0}, error);
}

int store_vat_next_key(struct store *store, int64_t vat, struct iovec key, struct buf *next,
                       bool *found, struct error *error)
{
    bind_key(store, STATEMENT_VAT_NEXT_KEY, vat, key);
    return statement_take_blob(store, STATEMENT_VAT_NEXT_KEY, next, found, error);
}

int store_vat_delete_all(struct store *store, int64_t vat, struct error *error)
{
    statement_bind_integer(store, STATEMENT_VAT_DELETE_ALL, 1, vat);
    if (statement_run(store, STATEMENT_VAT_DELETE_ALL, error) != 0)
        return -1;
    return report_vat_change(store, STORE_EMPTIED, vat, (struct iovec){0}, (struct iovec){0},
                             error);
}
