/* SPDX-License-Identifier: Apache-2.0 */
#include "store/key_writes.h"

#include <stdlib.h>

#include "base/array.h"
#include "store/integrity/rows.h"
#include "store/store_internal.h"

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

/* What is not known was undone: the table never had anything else, or has it again. What is kept
 * once never changes, and the table takes it once. */
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
