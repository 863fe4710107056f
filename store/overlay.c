/* SPDX-License-Identifier: Apache-2.0 */
#include "store/overlay.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

/* A changed or deleted key. */
struct overlay_entry {
    struct buf key;
    struct buf value;
    bool deleted;
};

static int overlay_no_memory(struct error *error)
{
    return error_memory(error, "what a vat stores");
}

void overlay_init(struct overlay *overlay, struct store *store, int64_t vat)
{
    *overlay = (struct overlay){.store = store, .vat = vat};
}

void overlay_free(struct overlay *overlay)
{
    for (size_t i = 0; i < overlay->count; i++) {
        buf_free(&overlay->entries[i].key);
        buf_free(&overlay->entries[i].value);
    }
    free(overlay->entries);
    overlay->entries = NULL;
    overlay->count = overlay->capacity = 0;
}

/* In the order of bytes, as the store has it. */
static int overlay_compare(const struct buf *a, struct iovec b)
{
    const size_t shorter = a->length < b.iov_len ? a->length : b.iov_len;
    const int difference = shorter > 0 ? memcmp(a->data, b.iov_base, shorter) : 0;

    if (difference != 0)
        return difference;
    return (a->length > b.iov_len) - (a->length < b.iov_len);
}

/* The index of the key, or of the first key after it. */
static size_t overlay_place_of(const struct overlay *overlay, struct iovec key)
{
    size_t low = 0, high = overlay->count;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (overlay_compare(&overlay->entries[middle].key, key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* NULL: the key was not changed. */
static struct overlay_entry *find_overlay_entry(const struct overlay *overlay, struct iovec key)
{
    const size_t place = overlay_place_of(overlay, key);

    if (place == overlay->count || overlay_compare(&overlay->entries[place].key, key) != 0)
        return NULL;
    return &overlay->entries[place];
}

static struct overlay_entry *provide_entry(struct overlay *overlay, struct iovec key)
{
    const size_t place = overlay_place_of(overlay, key);
    struct overlay_entry *entry = find_overlay_entry(overlay, key), *entries;
    struct buf copy = {0};

    if (entry != NULL)
        return entry;
    entries =
        array_reserve(overlay->entries, &overlay->capacity, overlay->count + 1, sizeof *entries);
    if (entries == NULL)
        return NULL;
    overlay->entries = entries;
    if (buf_append(&copy, key.iov_base, key.iov_len) != 0)
        return NULL;
    entry = &entries[place];
    memmove(entry + 1, entry, (overlay->count - place) * sizeof *entry);
    overlay->count++;
    *entry = (struct overlay_entry){.key = copy};
    return entry;
}

int overlay_get(const struct overlay *overlay, struct iovec key, struct buf *value, bool *found,
                struct error *error)
{
    const struct overlay_entry *entry = find_overlay_entry(overlay, key);

    if (entry == NULL)
        return store_vat_get(overlay->store, overlay->vat, key, value, found, error);
    *found = !entry->deleted;
    if (*found && buf_append(value, entry->value.data, entry->value.length) != 0)
        return overlay_no_memory(error);
    return 0;
}

/* The first key after `key` that the store has and that was not deleted here. */
static int next_stored(const struct overlay *overlay, struct iovec key, struct buf *next,
                       bool *found, struct error *error)
{
    const struct overlay_entry *entry;
    struct buf after = {0};
    int result;

    do {
        buf_clear(next);
        result = store_vat_next_key(overlay->store, overlay->vat, key, next, found, error);
        if (result != 0 || !*found)
            break;
        entry = find_overlay_entry(overlay, (struct iovec){next->data, next->length});
        buf_clear(&after);
        if (buf_append(&after, next->data, next->length) != 0)
            result = overlay_no_memory(error);
        key = (struct iovec){after.data, after.length};
    } while (result == 0 && entry != NULL && entry->deleted);
    buf_free(&after);
    return result;
}

/* The first key after `key` that was set here, or NULL. */
static const struct overlay_entry *next_set(const struct overlay *overlay, struct iovec key)
{
    size_t place = overlay_place_of(overlay, key);

    if (place < overlay->count && overlay_compare(&overlay->entries[place].key, key) == 0)
        place++;
    while (place < overlay->count && overlay->entries[place].deleted)
        place++;
    return place < overlay->count ? &overlay->entries[place] : NULL;
}

int overlay_next_key(const struct overlay *overlay, struct iovec key, struct buf *next, bool *found,
                     struct error *error)
{
    const struct overlay_entry *set = next_set(overlay, key);
    struct buf stored = {0};
    int result = next_stored(overlay, key, &stored, found, error);

    if (result == 0 && set != NULL &&
        (!*found || overlay_compare(&set->key, (struct iovec){stored.data, stored.length}) < 0)) {
        buf_clear(&stored);
        buf_append(&stored, set->key.data, set->key.length);
        *found = true;
    }
    if (result == 0 && *found && buf_append(next, stored.data, stored.length) != 0)
        result = overlay_no_memory(error);
    if (result == 0 && buf_failed(&stored))
        result = overlay_no_memory(error);
    buf_free(&stored);
    return result;
}

int overlay_set(struct overlay *overlay, struct iovec key, struct iovec value, struct error *error)
{
    struct overlay_entry *entry = provide_entry(overlay, key);

    if (entry == NULL)
        return overlay_no_memory(error);
    entry->deleted = false;
    buf_clear(&entry->value);
    return buf_append(&entry->value, value.iov_base, value.iov_len) == 0 ? 0
                                                                         : overlay_no_memory(error);
}

int overlay_delete(struct overlay *overlay, struct iovec key, struct error *error)
{
    struct overlay_entry *entry = provide_entry(overlay, key);

    if (entry == NULL)
        return overlay_no_memory(error);
    entry->deleted = true;
    return 0;
}
