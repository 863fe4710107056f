/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "store/integrity/cached_rows.h"
#include "store/integrity/lost_rows.h"
#include "store/integrity/rows.h"
#include "store/store_internal.h"

/* ---- changes of keys and vatstores ---- */

/* Reports a vatstore's key as vN.vs.KEY. */
static int report_row_change(struct store *store, char what, const struct row *row,
                             const struct row_change *change, struct error *error)
{
    struct store_changed changed = {.what = what,
                                    .key = row->key,
                                    .value = row->value,
                                    .before = change->before,
                                    .after = change->after};

    if (store->changed == NULL)
        return 0;
    if (row->table == ROW_VATSTORE) {
        buf_clear(&store->scope);
        buf_printf(&store->scope, "v%" PRId64 ".vs.", row->numbers[0]);
        buf_append(&store->scope, row->key.iov_base, row->key.iov_len);
        if (buf_failed(&store->scope))
            return error_memory(error, "a change of the store");
        changed.key = (struct iovec){store->scope.data, store->scope.length};
    }
    store->changed(store->changed_context, &changed);
    return 0;
}

static int change_and_report(struct store *store, const struct row *row, const char *name,
                             char what, struct error *error)
{
    struct cached_row wanted = {.row = row, .name = name};
    struct row_change change;

    if (cached_row_place(store, row, &wanted.place, error) != 0 ||
        cached_row_change(store, &wanted, what == STORE_SET, &change, error) != 0)
        return -1;
    return report_row_change(store, what, row, &change, error);
}

/* STORE_SET or STORE_DELETED, in a transaction; `name` as in struct cached_row. */
static int change_row(struct store *store, const struct row *row, const char *name, char what,
                      struct error *error)
{
    bool own;

    if (transaction_enter(store, &own, error) != 0)
        return -1;
    return transaction_leave(store, own, change_and_report(store, row, name, what, error), error);
}

/* ---- the kernel's keys ---- */

static struct row keys_row_of(const char *key, struct iovec value)
{
    return (struct row){
        .table = ROW_KEY, .key = {(void *)(uintptr_t)key, strlen(key)}, .value = value};
}

int store_key_get(struct store *store, const char *key, struct buf *value, bool *found,
                  struct error *error)
{
    const struct row row = keys_row_of(key, (struct iovec){0});
    const struct cached_row wanted = {.place = row.key, .row = &row, .name = key};

    return cached_row_get(store, &wanted, value, found, error);
}

int store_key_set(struct store *store, const char *key, struct iovec value, struct error *error)
{
    const struct row row = keys_row_of(key, value);

    return change_row(store, &row, key, STORE_SET, error);
}

int store_key_delete(struct store *store, const char *key, struct error *error)
{
    const struct row row = keys_row_of(key, (struct iovec){0});

    return change_row(store, &row, key, STORE_DELETED, error);
}

int store_name_note_new(struct store *store, const char *name, struct error *error)
{
    if (store->reads_only || key_cache_note_new(&store->cache, name) == 0)
        return 0;
    return error_memory(error, "the keys of the store");
}

bool store_name_is_new(const struct store *store, const char *name)
{
    return key_cache_is_new(&store->cache, name);
}

/* One range each: SQLite seeks by one lower bound and filters by another. */
static enum statement bind_range(struct store *store, const char *prefix, const char *after)
{
    bool from = strcmp(after, prefix) < 0 || after[0] == '\0';
    enum statement which = from ? STATEMENT_KEY_FROM : STATEMENT_KEY_BEHIND;

    const char *bound = from ? prefix : after;

    statement_bind_text(store, which, 1, (struct iovec){(void *)(uintptr_t)bound, strlen(bound)});
    return which;
}

int store_key_next(struct store *store, const char *prefix, const char *after, struct buf *key,
                   bool *found, struct error *error)
{
    enum statement which = bind_range(store, prefix, after);
    size_t prefix_length = strlen(prefix);
    struct row row = {.table = ROW_KEY};
    struct buf name = {0};
    int result = key_writes_finish(store, error);

    *found = false;
    if (result == 0)
        result = rows_take_key(store, which, &row, &name, found, error);

    if (result == 0 && *found) {
        *found = name.length >= prefix_length && memcmp(name.data, prefix, prefix_length) == 0;
        buf_clear(key);
        if (*found && buf_append(key, name.data, name.length) != 0)
            result = error_memory(error, "a key of the store");
    }
    buf_free(&name);
    return result;
}

int store_keys_damaged(struct store *store, const char *prefix, struct buf *names,
                       struct error *error)
{
    sqlite3_stmt *reading;
    int code, result = 0;

    if (key_writes_finish(store, error) != 0 ||
        statements_prepare_one(store,
                               "SELECT name, value, checksum FROM key "
                               "WHERE name >= ?1 AND name < ?1 || '~'",
                               &reading, error) != 0)
        return -1;
    code = sqlite3_bind_text(reading, 1, prefix, -1, SQLITE_STATIC);
    while (code == SQLITE_OK && (code = sqlite3_step(reading)) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(reading, 0);
        const void *value = sqlite3_column_blob(reading, 1);
        const struct row row = keys_row_of(
            name != NULL ? name : "",
            (struct iovec){(void *)(uintptr_t)value, (size_t)sqlite3_column_bytes(reading, 1)});

        if (row_checksum(&row) != (uint64_t)sqlite3_column_int64(reading, 2))
            buf_append(names, row.key.iov_base, row.key.iov_len + 1);
        code = SQLITE_OK;
    }
    if (code != SQLITE_DONE)
        result = store_error(store, error);
    else if (buf_failed(names))
        result = error_memory(error, "the keys of the store");
    (void)sqlite3_finalize(reading); /* a failed step was seen */
    return result;
}

int store_keys_drop_damaged(struct store *store, const char *prefix, int64_t *count,
                            struct error *error)
{
    struct buf names = {0};
    int result = store_keys_damaged(store, prefix, &names, error);

    *count = 0;
    for (size_t at = 0; result == 0 && at < names.length; at += strlen(names.data + at) + 1) {
        result = store_key_delete(store, names.data + at, error);
        ++*count;
    }
    buf_free(&names);
    return result;
}

/* ---- vatstores ---- */

static struct row vatstores_row_of(int64_t vat, struct iovec key, struct iovec value)
{
    return (struct row){.table = ROW_VATSTORE, .numbers = {vat}, .key = key, .value = value};
}

int store_vat_get(struct store *store, int64_t vat, struct iovec key, struct buf *value,
                  bool *found, struct error *error)
{
    const struct row row = vatstores_row_of(vat, key, (struct iovec){0});
    struct cached_row wanted = {.row = &row};

    if (cached_row_place(store, &row, &wanted.place, error) != 0 ||
        cached_row_get(store, &wanted, value, found, error) != 0)
        return -1;
    return *found ? 0 : lost_rows_check(store, &row, error);
}

int store_vat_set(struct store *store, int64_t vat, struct iovec key, struct iovec value,
                  struct error *error)
{
    const struct row row = vatstores_row_of(vat, key, value);

    return change_row(store, &row, NULL, STORE_SET, error);
}

int store_vat_delete(struct store *store, int64_t vat, struct iovec key, struct error *error)
{
    const struct row row = vatstores_row_of(vat, key, (struct iovec){0});

    return change_row(store, &row, NULL, STORE_DELETED, error);
}

int store_vat_next_key(struct store *store, int64_t vat, struct iovec key, struct buf *next,
                       bool *found, struct error *error)
{
    const struct row row = vatstores_row_of(vat, key, (struct iovec){0});
    struct iovec next_key;
    int result;

    *found = false;
    if (key_writes_finish(store, error) != 0 || lost_rows_check(store, &row, error) != 0)
        return -1;
    statement_bind_integer(store, STATEMENT_VAT_NEXT_KEY, 1, vat);
    statement_bind_blob(store, STATEMENT_VAT_NEXT_KEY, 2, key);
    result = statement_step(store, STATEMENT_VAT_NEXT_KEY, found, error);
    if (*found) {
        next_key = statement_bytes(store, STATEMENT_VAT_NEXT_KEY, 0);
        if (buf_append(next, next_key.iov_base, next_key.iov_len) != 0)
            result = error_memory(error, "a key of the store");
    }
    statement_done(store, STATEMENT_VAT_NEXT_KEY);
    return result;
}

static int forget_lost_rows(struct store *store, int64_t vat, struct error *error)
{
    char name[LOST_ROWS_NAME_SIZE];
    struct row row;
    bool marked;

    if (lost_rows_find(store, vat, name, &marked, error) != 0)
        return -1;
    if (!marked)
        return 0;
    row = keys_row_of(name, (struct iovec){0});
    return change_and_report(store, &row, name, STORE_DELETED, error);
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
                        &change.before, error) != 0 ||
        forget_lost_rows(store, vat, error) != 0)
        return -1;
    return report_row_change(store, STORE_EMPTIED, &row, &change, error);
}

int store_vat_delete_all(struct store *store, int64_t vat, struct error *error)
{
    bool own;

    if (transaction_enter(store, &own, error) != 0)
        return -1;
    return transaction_leave(store, own, empty(store, vat, error), error);
}

/* ---- transcripts ---- */

static struct row transcripts_row_of(int64_t vat, int64_t incarnation, int64_t position)
{
    return (struct row){.table = ROW_TRANSCRIPT, .numbers = {vat, incarnation, position}};
}

/* A second item in its place is refused, here or by the table. */
static int add_row(struct store *store, const struct row *row, struct error *error)
{
    struct cached_row wanted = {.row = row, .is_new = true, .once = true};
    struct row_change change;

    if (cached_row_place(store, row, &wanted.place, error) != 0)
        return -1;
    if (key_cache_find(&store->cache, wanted.place) != NULL)
        return row_damaged(store, row, "exists already", error);
    return cached_row_change(store, &wanted, true, &change, error);
}

int store_transcript_add(struct store *store, int64_t vat, int64_t incarnation, int64_t position,
                         struct iovec item, struct error *error)
{
    struct row row = transcripts_row_of(vat, incarnation, position);
    bool own;

    row.value = item;
    if (transaction_enter(store, &own, error) != 0)
        return -1;
    return transaction_leave(store, own, add_row(store, &row, error), error);
}

int store_transcript_get(struct store *store, int64_t vat, int64_t incarnation, int64_t position,
                         struct buf *item, bool *found, struct error *error)
{
    const struct row row = transcripts_row_of(vat, incarnation, position);

    *found = false;
    if (key_writes_finish(store, error) != 0)
        return -1;
    return rows_get(store, &row, item, found, error);
}

/* The number that a statement bound with a vat and an incarnation gives. */
static int take_position(struct store *store, enum statement which, int64_t vat,
                         int64_t incarnation, int64_t *position, bool *found, struct error *error)
{
    int result;

    statement_bind_integer(store, which, 1, vat);
    statement_bind_integer(store, which, 2, incarnation);
    result = statement_step(store, which, found, error);
    if (*found)
        *position = statement_integer(store, which, 0);
    statement_done(store, which);
    return result;
}

int store_transcript_bounds(struct store *store, int64_t vat, int64_t incarnation, int64_t *first,
                            int64_t *end, struct error *error)
{
    int64_t last = -1;
    bool found;

    *first = 0;
    if (key_writes_finish(store, error) != 0 ||
        take_position(store, STATEMENT_TRANSCRIPT_FIRST, vat, incarnation, first, &found, error) !=
            0 ||
        take_position(store, STATEMENT_TRANSCRIPT_LAST, vat, incarnation, &last, &found, error) !=
            0)
        return -1;
    *end = last + 1;
    return 0;
}

static int delete_rows(struct store *store, int64_t vat, struct error *error)
{
    const struct row row = transcripts_row_of(vat, 0, 0);
    uint64_t sum;

    if (cached_rows_lose(store, &row, error) != 0)
        return -1;
    statement_bind_integer(store, STATEMENT_TRANSCRIPT_LOOK_ALL, 1, vat);
    statement_bind_integer(store, STATEMENT_TRANSCRIPT_DELETE_ALL, 1, vat);
    return rows_delete_all(store, STATEMENT_TRANSCRIPT_LOOK_ALL, STATEMENT_TRANSCRIPT_DELETE_ALL,
                           vat, &sum, error);
}

int store_transcript_delete_all(struct store *store, int64_t vat, struct error *error)
{
    bool own;

    if (transaction_enter(store, &own, error) != 0)
        return -1;
    return transaction_leave(store, own, delete_rows(store, vat, error), error);
}

/* ---- bundles ---- */

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
