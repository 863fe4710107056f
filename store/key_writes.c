/* SPDX-License-Identifier: Apache-2.0 */
#include "store/key_writes.h"

#include "store/store_internal.h"

static int erase(struct store *store, struct iovec key, struct error *error)
{
    statement_bind_text(store, STATEMENT_KEY_DELETE, 1, key);
    return statement_run(store, STATEMENT_KEY_DELETE, error);
}

static int write_entry(struct store *store, const struct key_cache_entry *entry,
                       struct error *error)
{
    const struct iovec key = {(void *)(uintptr_t)entry->key, entry->key_length};

    /* What is not known was undone: the table never had anything else, or has it again. */
    if (!entry->known)
        return 0;
    if (!entry->present)
        return entry->stored ? erase(store, key, error) : 0;
    statement_bind_text(store, STATEMENT_KEY_SET, 1, key);
    statement_bind_blob(store, STATEMENT_KEY_SET, 2,
                        (struct iovec){entry->value.data, entry->value.length});
    statement_bind_integer(store, STATEMENT_KEY_SET, 3, (int64_t)entry->checksum);
    return statement_run(store, STATEMENT_KEY_SET, error);
}

int key_writes_finish(struct store *store, struct error *error)
{
    const struct key_cache_entry *entry;

    while ((entry = key_cache_unwritten(&store->cache)) != NULL) {
        if (write_entry(store, entry, error) != 0)
            return -1;
        if (key_cache_wrote(&store->cache) != 0)
            return error_memory(error, "the keys of the store");
    }
    return 0;
}
