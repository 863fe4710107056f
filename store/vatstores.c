/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "store/integrity/cached_rows.h"
#include "store/store_internal.h"

static struct row vatstores_row_of(int64_t vat, struct iovec key, struct iovec value)
{
    return (struct row){.table = ROW_VATSTORE, .numbers = {vat}, .key = key, .value = value};
}

static int report_vat_change(struct store *store, char what, const struct row *row,
                             const struct row_change *change, struct error *error)
{
    struct store_changed told = {
        .what = what, .value = row->value, .before = change->before, .after = change->after};

    if (store->changed == NULL)
        return 0;
    buf_clear(&store->scope);
    buf_printf(&store->scope, "v%" PRId64 ".vs.", row->numbers[0]);
    buf_append(&store->scope, row->key.iov_base, row->key.iov_len);
    if (buf_failed(&store->scope))
        return error_memory(error, "a change of the store");
    told.key = (struct iovec){store->scope.data, store->scope.length};
    store->changed(store->changed_context, &told);
    return 0;
}

int store_vat_get(struct store *store, int64_t vat, struct iovec key, struct buf *value,
                  bool *found, struct error *error)
{
    const struct row row = vatstores_row_of(vat, key, (struct iovec){0});
    struct cached_row wanted = {.row = &row};

    if (cached_row_place(store, &row, &wanted.place, error) != 0)
        return -1;
    return cached_row_get(store, &wanted, value, found, error);
}

static int change_row(struct store *store, const struct row *row, char what, struct error *error)
{
    struct cached_row wanted = {.row = row};
    struct row_change change;

    if (cached_row_place(store, row, &wanted.place, error) != 0 ||
        cached_row_change(store, &wanted, what == STORE_SET, &change, error) != 0)
        return -1;
    return report_vat_change(store, what, row, &change, error);
}

int store_vat_set(struct store *store, int64_t vat, struct iovec key, struct iovec value,
                  struct error *error)
{
    const struct row row = vatstores_row_of(vat, key, value);
    bool own;

    if (transaction_enter(store, &own, error) != 0)
        return -1;
    return transaction_leave(store, own, change_row(store, &row, STORE_SET, error), error);
}

int store_vat_delete(struct store *store, int64_t vat, struct iovec key, struct error *error)
{
    const struct row row = vatstores_row_of(vat, key, (struct iovec){0});
    bool own;

    if (transaction_enter(store, &own, error) != 0)
        return -1;
    return transaction_leave(store, own, change_row(store, &row, STORE_DELETED, error), error);
}

int store_vat_next_key(struct store *store, int64_t vat, struct iovec key, struct buf *next,
                       bool *found, struct error *error)
{
    struct row row = vatstores_row_of(vat, (struct iovec){0}, (struct iovec){0});

    *found = false;
    if (key_writes_finish(store, error) != 0)
        return -1;
    statement_bind_integer(store, STATEMENT_VAT_NEXT_KEY, 1, vat);
    statement_bind_blob(store, STATEMENT_VAT_NEXT_KEY, 2, key);
    return rows_take_key(store, STATEMENT_VAT_NEXT_KEY, &row, next, found, error);
}

static int empty(struct store *store, int64_t vat, struct error *error)
{
    const struct row row = vatstores_row_of(vat, (struct iovec){0}, (struct iovec){0});
    struct row_change change = {0};

    if (cached_rows_lose(store, &row, error) != 0)
        return -1;
    statement_bind_integer(store, STATEMENT_VAT_LOOK_ALL, 1, vat);
    statement_bind_integer(store, STATEMENT_VAT_DELETE_ALL, 1, vat);
    if (rows_delete_all(store, STATEMENT_VAT_LOOK_ALL, STATEMENT_VAT_DELETE_ALL, vat,
                        &change.before, error) != 0)
        return -1;
    return report_vat_change(store, STORE_EMPTIED, &row, &change, error);
}

int store_vat_delete_all(struct store *store, int64_t vat, struct error *error)
{
    bool own;

    if (transaction_enter(store, &own, error) != 0)
        return -1;
    return transaction_leave(store, own, empty(store, vat, error), error);
}
