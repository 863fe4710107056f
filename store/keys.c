/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "store/integrity/cached_rows.h"
#include "store/store_internal.h"

static struct row keys_row_of(const char *key, const struct iovec *value)
{
    return (struct row){.table = ROW_KEY,
                        .key = {(void *)(uintptr_t)key, strlen(key)},
                        .value = value != NULL ? *value : (struct iovec){0}};
}

static void report_key_change(struct store *store, char what, const struct row *row,
                              const struct row_change *change)
{
    const struct store_changed told = {.what = what,
                                       .key = row->key,
                                       .value = row->value,
                                       .before = change->before,
                                       .after = change->after};

    if (store->changed != NULL)
        store->changed(store->changed_context, &told);
}

int store_key_get(struct store *store, const char *key, struct buf *value, bool *found,
                  struct error *error)
{
    const struct row row = keys_row_of(key, NULL);

    const struct cached_row wanted = {.place = row.key, .row = &row, .name = key};

    return cached_row_get(store, &wanted, value, found, error);
}

/* NULL as value: the key is deleted. */
static int change_row(struct store *store, const char *key, const struct iovec *value,
                      struct error *error)
{
    const struct row row = keys_row_of(key, value);
    const struct cached_row wanted = {.place = row.key, .row = &row, .name = key};
    struct row_change change;

    if (cached_row_change(store, &wanted, value != NULL, &change, error) != 0)
        return -1;
    report_key_change(store, value != NULL ? STORE_SET : STORE_DELETED, &row, &change);
    return 0;
}

int store_key_set(struct store *store, const char *key, struct iovec value, struct error *error)
{
    bool own;

    if (transaction_enter(store, &own, error) != 0)
        return -1;
    return transaction_leave(store, own, change_row(store, key, &value, error), error);
}

int store_key_delete(struct store *store, const char *key, struct error *error)
{
    bool own;

    if (transaction_enter(store, &own, error) != 0)
        return -1;
    return transaction_leave(store, own, change_row(store, key, NULL, error), error);
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
