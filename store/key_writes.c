/* SPDX-License-Identifier: Apache-2.0 */
#include "store/key_writes.h"

#include <stdlib.h>

#include "base/array.h"
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

/* What is not known was undone: the table never had anything else, or has it again. */
static bool has_to_be_written(const struct key_cache_entry *entry)
{
    return entry->known && (entry->present || entry->stored);
}

int key_writes_gather(struct key_writes *writes, struct store *store, struct error *error)
{
    const struct key_cache_entry *entry;

    writes->count = 0;
    buf_clear(&writes->bytes);
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
    const enum statement which = write->erases ? STATEMENT_KEY_DELETE : STATEMENT_KEY_SET;
    char *bytes = writes->bytes.data + write->key;

    statement_bind_text(store, which, 1, (struct iovec){bytes, write->key_length});
    if (!write->erases) {
        statement_bind_blob(store, which, 2,
                            (struct iovec){bytes + write->key_length, write->value_length});
        statement_bind_integer(store, which, 3, (int64_t)write->checksum);
    }
    return statement_run(store, which, error);
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
    handover_wait(&store->handover); /* for what was gathered last */
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
