/* SPDX-License-Identifier: Apache-2.0 */
#include "store/key_cache.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/array.h"

enum { SLOTS_AT_FIRST = 1024 };

/* What an entry was before it changed, or before the table was brought to it. */
struct key_cache_step {
    struct key_cache_entry *entry;
    bool wrote; /* only `stored` is of the step */
    bool known, present, stored;
    uint64_t checksum;
    struct buf value;
};

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

static bool is_noted_new(const struct key_cache *cache, const char *name, size_t length)
{
    const struct key_cache_entry *entry =
        find_cache_entry(cache, name, length, hash_of(name, length));

    return entry != NULL && entry->is_new;
}

bool key_cache_is_new(const struct key_cache *cache, const char *key)
{
    const char *dot = strchr(key, '.');

    return is_noted_new(cache, key, strlen(key)) ||
           (dot != NULL && is_noted_new(cache, key, (size_t)(dot - key)));
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

int key_cache_note_new(struct key_cache *cache, const char *name)
{
    struct key_cache_entry *entry = provide(cache, name);

    if (entry == NULL)
        return -1;
    entry->is_new = true;
    return 0;
}

/* ---- values ---- */

static void drop_value(struct key_cache *cache, struct buf *value)
{
    cache->bytes -= value->capacity;
    buf_free(value);
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

    if (entry == NULL)
        return -1;
    entry->stored = value != NULL;
    return know(cache, entry, value, checksum);
}

/* ---- what the table does not have yet ---- */

static void add_unwritten(struct key_cache *cache, struct key_cache_entry *entry)
{
    if (entry->unwritten)
        return;
    entry->unwritten = true;
    entry->next_unwritten = NULL;
    if (cache->first_unwritten == NULL)
        cache->first_unwritten = entry;
    else
        cache->last_unwritten->next_unwritten = entry;
    cache->last_unwritten = entry;
}

static struct key_cache_step *add_step(struct key_cache *cache, struct key_cache_entry *entry)
{
    struct key_cache_step *steps =
        array_reserve(cache->steps, &cache->step_capacity, cache->step_count + 1, sizeof *steps);

    if (steps == NULL)
        return NULL;
    cache->steps = steps;
    steps += cache->step_count++;
    *steps = (struct key_cache_step){.entry = entry, .stored = entry->stored};
    return steps;
}

/* The value moves into the step: what comes next is another one. */
static int note_change(struct key_cache *cache, struct key_cache_entry *entry)
{
    struct key_cache_step *step;

    if (cache->savepoint_count == 0)
        return 0;
    step = add_step(cache, entry);
    if (step == NULL)
        return -1;
    step->known = entry->known;
    step->present = entry->present;
    step->checksum = entry->checksum;
    step->value = entry->value;
    entry->value = (struct buf){0};
    return 0;
}

int key_cache_change(struct key_cache *cache, const char *key, const struct iovec *value,
                     uint64_t checksum, bool was)
{
    struct key_cache_entry *entry = provide(cache, key);

    if (entry == NULL)
        return -1;
    if (!entry->known)
        entry->stored = was;
    if (note_change(cache, entry) != 0)
        return -1;
    add_unwritten(cache, entry);
    return know(cache, entry, value, checksum);
}

struct key_cache_entry *key_cache_unwritten(const struct key_cache *cache)
{
    return cache->first_unwritten;
}

int key_cache_wrote(struct key_cache *cache)
{
    struct key_cache_entry *entry = cache->first_unwritten;
    struct key_cache_step *step;

    if (cache->savepoint_count > 0) {
        step = add_step(cache, entry);
        if (step == NULL)
            return -1;
        step->wrote = true;
    }
    if (entry->known)
        entry->stored = entry->present;
    entry->unwritten = false;
    cache->first_unwritten = entry->next_unwritten;
    return 0;
}

/* ---- savepoints ---- */

int key_cache_savepoint(struct key_cache *cache)
{
    size_t *savepoints = array_reserve(cache->savepoints, &cache->savepoint_capacity,
                                       cache->savepoint_count + 1, sizeof *savepoints);

    if (savepoints == NULL)
        return -1;
    cache->savepoints = savepoints;
    cache->savepoints[cache->savepoint_count++] = cache->step_count;
    return 0;
}

static void take_back(struct key_cache *cache, struct key_cache_step *step)
{
    struct key_cache_entry *entry = step->entry;

    entry->stored = step->stored;
    if (step->wrote) {
        add_unwritten(cache, entry);
        return;
    }
    drop_value(cache, &entry->value);
    entry->known = step->known;
    entry->present = step->present;
    entry->checksum = step->checksum;
    entry->value = step->value;
}

void key_cache_undo(struct key_cache *cache)
{
    size_t then = cache->savepoints[--cache->savepoint_count];

    while (cache->step_count > then)
        take_back(cache, &cache->steps[--cache->step_count]);
}

void key_cache_release(struct key_cache *cache)
{
    /* The outer savepoint still needs the list of what changed. */
    if (--cache->savepoint_count > 0)
        return;
    while (cache->step_count > 0)
        drop_value(cache, &cache->steps[--cache->step_count].value);
}

void key_cache_clear(struct key_cache *cache)
{
    while (cache->step_count > 0)
        buf_free(&cache->steps[--cache->step_count].value);
    for (size_t i = 0; i < cache->slot_count; i++) {
        for (struct key_cache_entry *next, *entry = cache->slots[i]; entry != NULL; entry = next) {
            next = entry->next;
            buf_free(&entry->value);
            free(entry);
        }
    }
    free(cache->slots);
    free(cache->steps);
    free(cache->savepoints);
    *cache = (struct key_cache){0};
}
