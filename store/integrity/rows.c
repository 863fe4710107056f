/* SPDX-License-Identifier: Apache-2.0 */
#include "store/integrity/rows.h"

#include "store/integrity/running_sums.h"
#include "store/store_internal.h"

/* The statements of each table: none where nothing calls for one. */
static const struct {
    enum statement look, get, put, delete;
} table_statements[] = {
    [ROW_KEY] = {STATEMENT_KEY_LOOK, STATEMENT_KEY_GET, STATEMENT_KEY_SET, STATEMENT_KEY_DELETE},
    [ROW_VATSTORE] = {STATEMENT_VAT_LOOK, STATEMENT_VAT_GET, STATEMENT_VAT_SET,
                      STATEMENT_VAT_DELETE},
    [ROW_TRANSCRIPT] = {STATEMENT_TRANSCRIPT_LOOK, STATEMENT_TRANSCRIPT_GET,
                        STATEMENT_TRANSCRIPT_ADD, STATEMENTS},
    [ROW_SNAPSHOT] = {STATEMENT_SNAPSHOT_LOOK, STATEMENTS, STATEMENT_SNAPSHOT_PUT,
                      STATEMENT_SNAPSHOT_DELETE},
    [ROW_NAMED] = {STATEMENT_NAMED_LOOK, STATEMENT_NAMED_GET, STATEMENT_NAMED_PUT, STATEMENTS},
    [ROW_CONTENT] = {STATEMENT_CONTENT_LOOK, STATEMENTS, STATEMENT_CONTENT_PUT, STATEMENTS},
    [ROW_BUNDLE] = {STATEMENT_BUNDLE_LOOK, STATEMENT_BUNDLE_GET, STATEMENT_BUNDLE_PUT, STATEMENTS},
};

/* Binds what finds the row. Returns the next parameter. */
static int bind_place(struct store *store, enum statement which, const struct row *row)
{
    switch (row->table) {
    case ROW_VATSTORE:
        statement_bind_integer(store, which, 1, row->numbers[0]);
        statement_bind_blob(store, which, 2, row->key);
        return 3;
    case ROW_TRANSCRIPT:
    case ROW_SNAPSHOT:
        for (int i = 0; i < 3; i++)
            statement_bind_integer(store, which, i + 1, row->numbers[i]);
        return 4;
    default:
        statement_bind_text(store, which, 1, row->key);
        return 2;
    }
}

/* Binds the columns that neither find the row nor are the checksum. Returns the next parameter. */
static int bind_rest(struct store *store, enum statement which, int next, const struct row *row,
                     struct iovec bytes)
{
    switch (row->table) {
    case ROW_SNAPSHOT:
    case ROW_NAMED:
        statement_bind_text(store, which, next++, row->value);
        return next;
    case ROW_CONTENT:
        statement_bind_integer(store, which, next++, row->numbers[0]);
        statement_bind_blob(store, which, next++, bytes);
        return next;
    default:
        statement_bind_blob(store, which, next++, row->value);
        return next;
    }
}

static int add_to_sum(struct store *store, const struct row *row, const struct row_change *change,
                      struct error *error)
{
    const struct vat_sum sum = {.vat = row_vat(row),
                                .rows = (int64_t)change->is - (int64_t)change->was,
                                .sum = change->after - change->before};

    return sum.rows == 0 && sum.sum == 0 ? 0 : running_sums_add(store, &sum, error);
}

int rows_look(struct store *store, const struct row *row, struct row_change *change,
              struct error *error)
{
    const enum statement which = table_statements[row->table].look;
    int result;

    *change = (struct row_change){0};
    bind_place(store, which, row);
    result = statement_step(store, which, &change->was, error);
    if (change->was)
        change->before = (uint64_t)statement_integer(store, which, 0);
    statement_done(store, which);
    return result;
}

static int run_put(struct store *store, const struct row *row, struct iovec bytes,
                   uint64_t checksum, struct error *error)
{
    const enum statement which = table_statements[row->table].put;
    const int next = bind_rest(store, which, bind_place(store, which, row), row, bytes);

    statement_bind_integer(store, which, next, (int64_t)checksum);
    return statement_run(store, which, error);
}

int rows_put_with(struct store *store, const struct row *row, struct iovec bytes,
                  struct row_change *change, struct error *error)
{
    change->is = true;
    change->after = row_checksum(row);
    if (run_put(store, row, bytes, change->after, error) != 0)
        return -1;
    return add_to_sum(store, row, change, error);
}

int rows_change_later(struct store *store, const struct row *row, bool present,
                      struct row_change *change, struct error *error)
{
    change->is = present;
    change->after = present ? row_checksum(row) : 0;
    return add_to_sum(store, row, change, error);
}

int rows_write(struct store *store, const struct row *row, uint64_t checksum, struct error *error)
{
    return run_put(store, row, (struct iovec){0}, checksum, error);
}

int rows_erase(struct store *store, const struct row *row, struct error *error)
{
    const enum statement which = table_statements[row->table].delete;

    bind_place(store, which, row);
    return statement_run(store, which, error);
}

int rows_put(struct store *store, const struct row *row, struct row_change *change,
             struct error *error)
{
    return rows_put_with(store, row, (struct iovec){0}, change, error);
}

int rows_delete(struct store *store, const struct row *row, struct row_change *change,
                struct error *error)
{
    change->is = false;
    change->after = 0;
    if (!change->was)
        return 0;
    if (rows_erase(store, row, error) != 0)
        return -1;
    return add_to_sum(store, row, change, error);
}

int rows_delete_all(struct store *store, enum statement look, enum statement delete, int64_t vat,
                    uint64_t *sum, struct error *error)
{
    struct vat_sum change = {.vat = vat};
    int result;
    bool found;

    while ((result = statement_step(store, look, &found, error)) == 0 && found) {
        change.rows--;
        change.sum -= (uint64_t)statement_integer(store, look, 0);
    }
    statement_done(store, look);
    *sum = -change.sum;
    if (result != 0 || change.rows == 0) {
        statement_done(store, delete);
        return result;
    }
    if (statement_run(store, delete, error) != 0)
        return -1;
    return running_sums_add(store, &change, error);
}

int rows_get(struct store *store, const struct row *row, struct buf *value, bool *found,
             struct error *error)
{
    const enum statement which = table_statements[row->table].get;
    struct row read = *row;
    int result;

    bind_place(store, which, row);
    result = statement_step(store, which, found, error);
    if (*found) {
        read.value = statement_bytes(store, which, 0);
        result = row_check(store, &read, (uint64_t)statement_integer(store, which, 1), error);
        if (result == 0 && buf_append(value, read.value.iov_base, read.value.iov_len) != 0)
            result = error_memory(error, "a value of the store");
    }
    statement_done(store, which);
    return result;
}

int rows_take_key(struct store *store, enum statement which, struct row *row, struct buf *key,
                  bool *found, struct error *error)
{
    int result = statement_step(store, which, found, error);

    if (*found) {
        row->key = statement_bytes(store, which, 0);
        row->value = statement_bytes(store, which, 1);
        result = row_check(store, row, (uint64_t)statement_integer(store, which, 2), error);
        if (result == 0 && buf_append(key, row->key.iov_base, row->key.iov_len) != 0)
            result = error_memory(error, "a key of the store");
    }
    statement_done(store, which);
    return result;
}
