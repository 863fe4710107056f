/* SPDX-License-Identifier: Apache-2.0 */
#include "store/key_cache.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/array.h"

enum { SLOTS_AT_FIRST = 1024 };

static uint64_t hash_of(const char *key, size_t length)
{
    return XXH3_64bits(key, length);
}

static struct key_cache_entry *find_cache_entry(const struct key_cache *cache, const char *key,
                                                size_t length, uint64_t hash)
{
    struct key_cache_entry *entry;

    if (cache->slot_count == 0)
        return NULL;
    entry = cache->slots[hash & (cache->slot_count - 1)];
    while (entry != NULL && (entry->hash != hash || entry->key_length != length ||
                             memcmp(entry->key, key, length) != 0))
        entry = entry->next;
    return entry;
}

const struct key_cache_entry *key_cache_find(const struct key_cache *cache, const char *key)
{
    size_t length = strlen(key);
    const struct key_cache_entry *entry =
        find_cache_entry(cache, key, length, hash_of(key, length));

    return entry != NULL && entry->known ? entry : NULL;
}

static void chain(struct key_cache *cache, struct key_cache_entry *entry)
{
    struct key_cache_entry **slot = &cache->slots[entry->hash & (cache->slot_count - 1)];

    entry->next = *slot;
    *slot = entry;
}

/* Twice as many slots when there are more entries than slots. */
static int grow_slots(struct key_cache *cache)
{
    struct key_cache_entry **old = cache->slots;
    size_t old_count = cache->slot_count;
    size_t count = old_count == 0 ? SLOTS_AT_FIRST : old_count * 2;
    struct key_cache_entry **slots;

    if (cache->count < old_count)
        return 0;
    slots = calloc(count, sizeof(struct key_cache_entry *));
    if (slots == NULL)
        return -1;
    cache->slots = slots;
    cache->slot_count = count;
    cache->bytes += (count - old_count) * sizeof(struct key_cache_entry *);
    for (size_t i = 0; i < old_count; i++) {
        for (struct key_cache_entry *next, *entry = old[i]; entry != NULL; entry = next) {
            next = entry->next;
            chain(cache, entry);
        }
    }
    free(old);
    return 0;
}

static struct key_cache_entry *provide(struct key_cache *cache, const char *key)
{
    size_t length = strlen(key);
    uint64_t hash = hash_of(key, length);
    struct key_cache_entry *entry = find_cache_entry(cache, key, length, hash);

    if (entry != NULL)
        return entry;
    if (grow_slots(cache) != 0)
        return NULL;
    entry = calloc(1, sizeof *entry + length);
    if (entry == NULL)
        return NULL;
    entry->hash = hash;
    entry->key_length = length;
    memcpy(entry->key, key, length);
    chain(cache, entry);
    cache->count++;
    cache->bytes += sizeof *entry + length;
    return entry;
}

static int know(struct key_cache *cache, struct key_cache_entry *entry, const struct iovec *value,
                uint64_t checksum)
{
    size_t capacity = entry->value.capacity;

    entry->known = false;
    buf_clear(&entry->value);
    if (value != NULL && buf_append(&entry->value, value->iov_base, value->iov_len) != 0)
        return -1;
    cache->bytes += entry->value.capacity - capacity;
    entry->present = value != NULL;
    entry->checksum = value != NULL ? checksum : 0;
    entry->known = true;
    return 0;
}

int key_cache_learn(struct key_cache *cache, const char *key, const struct iovec *value,
                    uint64_t checksum)
{
    struct key_cache_entry *entry = provide(cache, key);

    return entry == NULL ? -1 : know(cache, entry, value, checksum);
}

static int note_change(struct key_cache *cache, struct key_cache_entry *entry)
{
    struct key_cache_entry **changed;

    if (cache->savepoint_count == 0)
        return 0;
    changed = (struct key_cache_entry **)array_reserve(
        (void *)cache->changed, &cache->changed_capacity, cache->changed_count + 1, sizeof entry);
    if (changed == NULL)
        return -1;
    cache->changed = changed;
    cache->changed[cache->changed_count++] = entry;
    return 0;
}

int key_cache_change(struct key_cache *cache, const char *key, const struct iovec *value,
                     uint64_t checksum)
{
    struct key_cache_entry *entry = provide(cache, key);

    if (entry == NULL || note_change(cache, entry) != 0)
        return -1;
    return know(cache, entry, value, checksum);
}

int key_cache_savepoint(struct key_cache *cache)
{
    size_t *savepoints = array_reserve(cache->savepoints, &cache->savepoint_capacity,
                                       cache->savepoint_count + 1, sizeof *savepoints);

    if (savepoints == NULL)
        return -1;
    cache->savepoints = savepoints;
    cache->savepoints[cache->savepoint_count++] = cache->changed_count;
    return 0;
}

void key_cache_undo(struct key_cache *cache)
{
    size_t then = cache->savepoints[--cache->savepoint_count];

    while (cache->changed_count > then)
        cache->changed[--cache->changed_count]->known = false;
}

void key_cache_release(struct key_cache *cache)
{
    /* The outer savepoint still needs the list of what changed. */
    if (--cache->savepoint_count == 0)
        cache->changed_count = 0;
}

void key_cache_clear(struct key_cache *cache)
{
    for (size_t i = 0; i < cache->slot_count; i++) {
        for (struct key_cache_entry *next, *entry = cache->slots[i]; entry != NULL; entry = next) {
            next = entry->next;
            buf_free(&entry->value);
            free(entry);
        }
    }
    free(cache->slots);
    free(cache->changed);
    free(cache->savepoints);
    *cache = (struct key_cache){0};
}
