/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "store/store_internal.h"

static void report_key_change(struct store *store, char what, const char *key, struct iovec value)
{
    if (store->changed != NULL)
        store->changed(store->changed_context, what, (struct iovec){(char *)key, strlen(key)},
                       value);
}

static int give(const struct key_cache_entry *entry, struct buf *value, bool *found,
                struct error *error)
{
    *found = entry->present;
    if (entry->present && buf_append(value, entry->value.data, entry->value.length) != 0)
        return error_memory(error, "a value of the store");
    return 0;
}

int store_key_get(struct store *store, const char *key, struct buf *value, bool *found,
                  struct error *error)
{
    const struct key_cache_entry *entry = key_cache_find(&store->cache, key);
    size_t before = value->length;
    struct iovec bytes;

    if (entry != NULL)
        return give(entry, value, found, error);
    statement_bind_text(store, STATEMENT_KEY_GET, 1, key);
    if (statement_take_blob(store, STATEMENT_KEY_GET, value, found, error) != 0)
        return -1;
    /* What another process writes would make a reader's cache wrong. */
    if (store->reads_only)
        return 0;
    bytes =
        (struct iovec){value->data != NULL ? value->data + before : NULL, value->length - before};
    if (key_cache_learn(&store->cache, key, *found ? &bytes : NULL) != 0)
        return error_memory(error, "the keys of the store");
    return 0;
}

/* Whether the table is known to hold just this value; NULL: none. */
static bool is_so(struct store *store, const char *key, const struct iovec *value)
{
    const struct key_cache_entry *entry = key_cache_find(&store->cache, key);

    if (entry == NULL || entry->present != (value != NULL))
        return false;
    return value == NULL || (entry->value.length == value->iov_len &&
                             (value->iov_len == 0 ||
                              memcmp(entry->value.data, value->iov_base, value->iov_len) == 0));
}

int store_key_set(struct store *store, const char *key, struct iovec value, struct error *error)
{
    if (!is_so(store, key, &value)) {
        statement_bind_text(store, STATEMENT_KEY_SET, 1, key);
        statement_bind_blob(store, STATEMENT_KEY_SET, 2, value);
        if (statement_run(store, STATEMENT_KEY_SET, error) != 0)
            return -1;
        if (key_cache_change(&store->cache, key, &value) != 0)
            return error_memory(error, "the keys of the store");
    }
    report_key_change(store, STORE_SET, key, value);
    return 0;
}

int store_key_delete(struct store *store, const char *key, struct error *error)
{
    if (!is_so(store, key, NULL)) {
        statement_bind_text(store, STATEMENT_KEY_DELETE, 1, key);
        if (statement_run(store, STATEMENT_KEY_DELETE, error) != 0)
            return -1;
        if (key_cache_change(&store->cache, key, NULL) != 0)
            return error_memory(error, "the keys of the store");
    }
    report_key_change(store, STORE_DELETED, key, (struct iovec){0});
    return 0;
}

/* One range each: SQLite seeks by one lower bound and filters by another. */
static enum statement bind_range(struct store *store, const char *prefix, const char *after)
{
    bool from = strcmp(after, prefix) < 0 || after[0] == '\0';
    enum statement which = from ? STATEMENT_KEY_FROM : STATEMENT_KEY_BEHIND;

    statement_bind_text(store, which, 1, from ? prefix : after);
    return which;
}

int store_key_next(struct store *store, const char *prefix, const char *after, struct buf *key,
                   bool *found, struct error *error)
{
    enum statement which = bind_range(store, prefix, after);
    size_t prefix_length = strlen(prefix);
    int result = statement_step(store, which, found, error);

    if (*found) {
        struct iovec name = statement_bytes(store, which, 0);

        *found = name.iov_len >= prefix_length && memcmp(name.iov_base, prefix, prefix_length) == 0;
        buf_clear(key);
        if (*found && buf_append(key, name.iov_base, name.iov_len) != 0)
            result = error_memory(error, "a key of the store");
    }
    statement_done(store, which);
    return result;
}
