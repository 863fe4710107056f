/* SPDX-License-Identifier: Apache-2.0 */
#include "store/integrity/cached_rows.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "store/integrity/rows.h"
#include "store/statements.h"
#include "store/store_internal.h"

/* Beyond this, changes are written before the commit, so that a large transaction does not need as
 * much memory. */
enum { UNWRITTEN_BYTES_MAX = 8 * 1024 * 1024 };

/* A longer value of a vatstore or a transcript is written at once, without a copy here. */
enum { LARGE_VALUE = 256 * 1024 };

/* A longer value that is read is not cached. */
enum { LEARNT_VALUE = 1024 * 1024 };

static int no_memory(struct error *error)
{
    return error_memory(error, "the keys of the store");
}

static int make_place(struct store *store, const struct row *row, bool whole, struct iovec *place,
                      struct error *error)
{
    buf_clear(&store->place);
    row_write_place(row, whole, &store->place);
    if (buf_failed(&store->place))
        return no_memory(error);
    *place = (struct iovec){store->place.data, store->place.length};
    return 0;
}

int cached_row_place(struct store *store, const struct row *row, struct iovec *place,
                     struct error *error)
{
    if (row->table != ROW_KEY)
        return make_place(store, row, true, place, error);
    *place = row->key;
    return 0;
}

/* ---- reading ---- */

static int append_cached_value(const struct key_cache_entry *entry, struct buf *value, bool *found,
                               struct error *error)
{
    *found = entry->present;
    if (entry->present && buf_append(value, entry->value.data, entry->value.length) != 0)
        return error_memory(error, "a value of the store");
    return 0;
}

static bool is_new(const struct store *store, const struct cached_row *wanted)
{
    return wanted->is_new ||
           (wanted->name != NULL && key_cache_is_new(&store->cache, wanted->name));
}

int cached_row_get(struct store *store, const struct cached_row *wanted, struct buf *value,
                   bool *found, struct error *error)
{
    const struct key_cache_entry *entry = key_cache_find(&store->cache, wanted->place);
    const size_t before = value->length;
    struct row row = *wanted->row;

    if (entry != NULL)
        return append_cached_value(entry, value, found, error);
    *found = false;
    if (is_new(store, wanted))
        return 0;
    if (rows_get(store, &row, value, found, error) != 0)
        return -1;
    /* A reader does not see when another process changes the row. */
    if (store->reads_only || value->length - before > LEARNT_VALUE)
        return 0;
    row.value =
        (struct iovec){value->data != NULL ? value->data + before : NULL, value->length - before};
    if (key_cache_learn(&store->cache, wanted->place, *found ? &row.value : NULL,
                        row_checksum(&row)) != 0)
        return no_memory(error);
    return 0;
}

/* ---- changing ---- */

/* Returns true if the row is known to have this value; NULL: to be missing. */
static bool is_unchanged(const struct key_cache_entry *entry, const struct iovec *value)
{
    if (!entry->known || entry->present != (value != NULL))
        return false;
    return value == NULL || (entry->value.length == value->iov_len &&
                             (value->iov_len == 0 ||
                              memcmp(entry->value.data, value->iov_base, value->iov_len) == 0));
}

/* The row as the cache or the table has it. */
static int look(struct store *store, const struct cached_row *wanted,
                const struct key_cache_entry *entry, struct row_change *change, struct error *error)
{
    *change = (struct row_change){0};
    if (entry->known)
        *change = (struct row_change){
            .was = entry->present, .before = entry->checksum, .after = entry->checksum};
    else if (!is_new(store, wanted))
        return rows_look(store, wanted->row, change, error);
    return 0;
}

static int write_when_much(struct store *store, const struct iovec *value, struct error *error)
{
    store->unwritten_bytes += value != NULL ? value->iov_len : 0;
    if (store->unwritten_bytes < UNWRITTEN_BYTES_MAX)
        return 0;
    return key_writes_finish(store, error);
}

/* The kernel's keys are always cached, because the cache also knows which names are new. */
static bool is_large(const struct store *store, const struct cached_row *wanted,
                     const struct iovec *value)
{
    const size_t limit = store->large_value > 0 ? store->large_value : LARGE_VALUE;

    return value != NULL && value->iov_len > limit && wanted->row->table != ROW_KEY;
}

static int write_at_once(struct store *store, const struct cached_row *wanted,
                         struct key_cache_entry *entry, struct row_change *change,
                         struct error *error)
{
    if (rows_put(store, wanted->row, change, error) != 0)
        return -1;
    return key_cache_pass(&store->cache, entry, change->was) == 0 ? 0 : no_memory(error);
}

int cached_row_change(struct store *store, const struct cached_row *wanted, bool present,
                      struct row_change *change, struct error *error)
{
    const struct iovec *value = present ? &wanted->row->value : NULL;
    struct key_cache_entry *entry;

    if (store->reads_only)
        return store_error_set(store, error, ERROR_SYSTEM, "opened read-only");
    entry = key_cache_provide(&store->cache, wanted->place);
    if (entry == NULL)
        return no_memory(error);
    if (look(store, wanted, entry, change, error) != 0)
        return -1;
    if (is_unchanged(entry, value))
        return 0;
    if (is_large(store, wanted, value))
        return write_at_once(store, wanted, entry, change, error);
    if (rows_change_later(store, wanted->row, present, change, error) != 0)
        return -1;
    if (wanted->once)
        key_cache_keep_once(entry);
    if (key_cache_change(&store->cache, entry, value, change->after, change->was) != 0)
        return no_memory(error);
    return write_when_much(store, value, error);
}

int cached_rows_lose(struct store *store, const struct row *row, struct error *error)
{
    struct iovec beginning;

    if (key_writes_finish(store, error) != 0 ||
        make_place(store, row, false, &beginning, error) != 0)
        return -1;
    return key_cache_forget(&store->cache, beginning) == 0 ? 0 : no_memory(error);
}

struct key_write {
    size_t key, key_length; /* where in the bytes */
    size_t value_length;    /* of what follows the key */
    uint64_t checksum;
    bool erases;
};

static int add_write(struct key_writes *writes, const struct key_cache_entry *entry)
{
    struct key_write *array =
        array_reserve(writes->writes, &writes->capacity, writes->count + 1, sizeof *array);

    if (array == NULL)
        return -1;
    writes->writes = array;
    array[writes->count++] = (struct key_write){
        .key = writes->bytes.length,
        .key_length = entry->key_length,
        .value_length = entry->value.length,
        .checksum = entry->checksum,
        .erases = !entry->present,
    };
    if (buf_append(&writes->bytes, entry->key, entry->key_length) != 0)
        return -1;
    return entry->value.length == 0
               ? 0
               : buf_append(&writes->bytes, entry->value.data, entry->value.length);
}

/* An unknown value was undone, so the table is right without it. A row that is kept once never
 * changes, so it is written once. */
static bool has_to_be_written(const struct key_cache_entry *entry)
{
    if (!entry->known)
        return false;
    return entry->present ? !(entry->once && entry->stored) : entry->stored;
}

int key_writes_gather(struct key_writes *writes, struct store *store, struct error *error)
{
    const struct key_cache_entry *entry;

    writes->count = 0;
    buf_clear(&writes->bytes);
    store->unwritten_bytes = 0;
    while ((entry = key_cache_unwritten(&store->cache)) != NULL) {
        if ((has_to_be_written(entry) && add_write(writes, entry) != 0) ||
            key_cache_wrote(&store->cache) != 0)
            return error_memory(error, "the keys of the store");
    }
    return 0;
}

static int perform_write(const struct key_writes *writes, const struct key_write *write,
                         struct store *store, struct error *error)
{
    char *bytes = writes->bytes.data + write->key;
    struct row row = row_at_place((struct iovec){bytes, write->key_length});

    if (write->erases)
        return rows_erase(store, &row, error);
    row.value = (struct iovec){bytes + write->key_length, write->value_length};
    return rows_write(store, &row, write->checksum, error);
}

int key_writes_perform(const struct key_writes *writes, struct store *store, struct error *error)
{
    for (size_t i = 0; i < writes->count; i++)
        if (perform_write(writes, &writes->writes[i], store, error) != 0)
            return -1;
    return 0;
}

int key_writes_finish(struct store *store, struct error *error)
{
    struct key_writes *writes = &store->commit.keys;

    if (key_cache_unwritten(&store->cache) == NULL)
        return 0;
    statements_wait(store); /* for what was gathered last */
    if (key_writes_gather(writes, store, error) != 0)
        return -1;
    return key_writes_perform(writes, store, error);
}

void key_writes_free(struct key_writes *writes)
{
    free(writes->writes);
    buf_free(&writes->bytes);
    *writes = (struct key_writes){0};
}
