/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/near/call/call.h"

#include <stdlib.h>
#include <string.h>

enum request { REQUEST_GET, REQUEST_SET, REQUEST_REMOVE, REQUEST_LOG };

struct near_journal_entry {
    enum request request;
    struct buf key;   /* or the log's text */
    struct buf value; /* that was set, or was answered */
    bool found;
};

/* ---- entries ---- */

static bool is_same(const struct buf *kept, struct wasm_bytes bytes)
{
    return kept->length == bytes.length &&
           (bytes.length == 0 || memcmp(kept->data, bytes.data, bytes.length) == 0);
}

/* Adds an entry for what is asked for now. NULL if out of memory. */
static struct near_journal_entry *add_entry(struct near_journal *journal, enum request request,
                                            struct wasm_bytes key)
{
    struct near_journal_entry *entry;

    if (journal->count == journal->capacity) {
        const size_t capacity = 2 * journal->capacity + 16;

        entry = reallocarray(journal->entries, capacity, sizeof *entry);
        if (entry == NULL)
            return NULL;
        journal->entries = entry;
        journal->capacity = capacity;
    }
    entry = &journal->entries[journal->count];
    *entry = (struct near_journal_entry){.request = request};
    if (buf_append(&entry->key, key.data, key.length) != 0)
        return NULL;
    journal->next = ++journal->count;
    return entry;
}

/* In a repeated call, the entry of this request; NULL if the kernel has to be asked. *is_other: the
 * first call asked something else. */
static const struct near_journal_entry *answered(struct near_journal *journal, enum request request,
                                                 struct wasm_bytes key, bool *is_other)
{
    const struct near_journal_entry *entry;

    *is_other = false;
    if (journal->next == journal->count)
        return NULL;
    entry = &journal->entries[journal->next++];
    *is_other = entry->request != request || !is_same(&entry->key, key);
    return entry;
}

/* ---- the storage ---- */

static int journal_get(void *context, struct wasm_bytes key, struct buf *value, bool *found)
{
    struct near_journal *journal = context;
    bool is_other;
    const struct near_journal_entry *entry = answered(journal, REQUEST_GET, key, &is_other);
    struct near_journal_entry *added;

    if (is_other)
        return -1;
    if (entry != NULL) {
        *found = entry->found;
        buf_clear(value);
        return buf_append(value, entry->value.data, entry->value.length);
    }
    if (journal->kernel->get(journal->kernel->context, key, value, found) != 0)
        return -1;
    added = add_entry(journal, REQUEST_GET, key);
    if (added == NULL)
        return -1;
    added->found = *found;
    return *found ? buf_append(&added->value, value->data, value->length) : 0;
}

static int journal_set(void *context, struct wasm_bytes key, struct wasm_bytes value)
{
    struct near_journal *journal = context;
    bool is_other;
    const struct near_journal_entry *entry = answered(journal, REQUEST_SET, key, &is_other);
    struct near_journal_entry *added;

    if (is_other || (entry != NULL && !is_same(&entry->value, value)))
        return -1;
    if (entry != NULL)
        return 0;
    if (journal->kernel->set(journal->kernel->context, key, value) != 0)
        return -1;
    added = add_entry(journal, REQUEST_SET, key);
    return added != NULL ? buf_append(&added->value, value.data, value.length) : -1;
}

static int journal_remove(void *context, struct wasm_bytes key)
{
    struct near_journal *journal = context;
    bool is_other;
    const struct near_journal_entry *entry = answered(journal, REQUEST_REMOVE, key, &is_other);

    if (is_other)
        return -1;
    if (entry != NULL)
        return 0;
    if (journal->kernel->remove(journal->kernel->context, key) != 0)
        return -1;
    return add_entry(journal, REQUEST_REMOVE, key) != NULL ? 0 : -1;
}

static int journal_log(void *context, const char *text, size_t length)
{
    struct near_journal *journal = context;
    const struct wasm_bytes bytes = {(const uint8_t *)text, (uint32_t)length};
    bool is_other;
    const struct near_journal_entry *entry = answered(journal, REQUEST_LOG, bytes, &is_other);

    if (is_other)
        return -1;
    if (entry != NULL)
        return 0;
    if (journal->kernel->log(journal->kernel->context, text, length) != 0)
        return -1;
    return add_entry(journal, REQUEST_LOG, bytes) != NULL ? 0 : -1;
}

/* ---- a call ---- */

void near_journal_begin(struct near_journal *journal, const struct near_storage *kernel)
{
    near_journal_free(journal);
    journal->kernel = kernel;
    journal->storage = (struct near_storage){
        .context = journal,
        .get = journal_get,
        .set = journal_set,
        .remove = journal_remove,
        .log = journal_log,
    };
}

void near_journal_rewind(struct near_journal *journal)
{
    journal->next = 0;
}

void near_journal_free(struct near_journal *journal)
{
    for (size_t i = 0; i < journal->count; i++) {
        buf_free(&journal->entries[i].key);
        buf_free(&journal->entries[i].value);
    }
    free(journal->entries);
    *journal = (struct near_journal){0};
}
