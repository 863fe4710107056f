/* SPDX-License-Identifier: Apache-2.0 */
#include "store/key_cache.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/array.h"

enum {
    SLOTS_AT_FIRST = 1024,
    NAMES_KEPT = 1024,
    SPARES_MAX = 256,
    SPARE_SIZE_MAX = 1024,
    KEPT_BYTES_MAX = 48 * 1024 * 1024,
    SHORT_KEY = 56, /* bytes; entries of keys up to this length are interchangeable */
};

/* Undoes a change of an entry, or its writing. */
struct key_cache_step {
    struct key_cache_entry *entry;
    bool wrote; /* it undoes a writing: only `stored` counts */
    bool known, present, stored;
    uint64_t checksum;
    struct buf value;
};

/* Then nothing is kept that the table has. */
static bool is_cache_full(const struct key_cache *cache)
{
    return cache->bytes > (cache->kept_max > 0 ? cache->kept_max : KEPT_BYTES_MAX);
}

static uint64_t hash_cache_key(const char *key, size_t length)
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

const struct key_cache_entry *key_cache_find(const struct key_cache *cache, struct iovec key)
{
    const struct key_cache_entry *entry = find_cache_entry(
        cache, key.iov_base, key.iov_len, hash_cache_key(key.iov_base, key.iov_len));

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
        find_cache_entry(cache, name, length, hash_cache_key(name, length));

    return entry != NULL && entry->is_new;
}

bool key_cache_is_new(const struct key_cache *cache, const char *key)
{
    const char *dot = strchr(key, '.');

    return is_noted_new(cache, key, strlen(key)) ||
           (dot != NULL && is_noted_new(cache, key, (size_t)(dot - key)));
}

static size_t entry_size(size_t length)
{
    return sizeof(struct key_cache_entry) + (length < SHORT_KEY ? SHORT_KEY : length);
}

static struct key_cache_entry *make_entry(struct key_cache *cache, size_t length)
{
    struct key_cache_entry *entry = length <= SHORT_KEY ? cache->unused : NULL;

    if (entry != NULL) {
        const struct buf value = entry->value;

        cache->unused = entry->next;
        *entry = (struct key_cache_entry){.value = value};
        return entry;
    }
    entry = calloc(1, entry_size(length));
    if (entry != NULL)
        cache->bytes += entry_size(length);
    return entry;
}

struct key_cache_entry *key_cache_provide(struct key_cache *cache, struct iovec key)
{
    const size_t length = key.iov_len;
    uint64_t hash = hash_cache_key(key.iov_base, length);
    struct key_cache_entry *entry = find_cache_entry(cache, key.iov_base, length, hash);

    if (entry != NULL)
        return entry;
    if (grow_slots(cache) != 0)
        return NULL;
    entry = make_entry(cache, length);
    if (entry == NULL)
        return NULL;
    entry->hash = hash;
    entry->key_length = length;
    memcpy(entry->key, key.iov_base, length);
    chain(cache, entry);
    cache->count++;
    return entry;
}

/* Nothing refers to it. */
static void remove_entry(struct key_cache *cache, struct key_cache_entry *entry)
{
    struct key_cache_entry **link = &cache->slots[entry->hash & (cache->slot_count - 1)];

    while (*link != entry)
        link = &(*link)->next;
    *link = entry->next;
    cache->count--;
    if (entry->key_length <= SHORT_KEY && entry->value.capacity <= SPARE_SIZE_MAX) {
        entry->next = cache->unused;
        cache->unused = entry;
        return;
    }
    cache->bytes -= entry_size(entry->key_length) + entry->value.capacity;
    buf_free(&entry->value);
    free(entry);
}

/* ---- new names ---- */

int key_cache_note_new(struct key_cache *cache, const char *name)
{
    const struct iovec key = {(void *)(uintptr_t)name, strlen(name)};
    struct key_cache_entry *entry = key_cache_provide(cache, key);

    if (entry == NULL)
        return -1;
    if (entry->is_new)
        return 0;
    entry->is_new = true;
    entry->next_name = NULL;
    entry->name_before = cache->last_name;
    if (cache->first_name == NULL)
        cache->first_name = entry;
    else
        cache->last_name->next_name = entry;
    cache->last_name = entry;
    cache->name_count++;
    return 0;
}

static void forget_name(struct key_cache *cache, struct key_cache_entry *entry)
{
    *(entry == cache->first_name ? &cache->first_name : &entry->name_before->next_name) =
        entry->next_name;
    *(entry == cache->last_name ? &cache->last_name : &entry->next_name->name_before) =
        entry->name_before;
    entry->is_new = false;
    cache->name_count--;
}

void key_cache_trim(struct key_cache *cache)
{
    while (cache->name_count > NAMES_KEPT) {
        struct key_cache_entry *entry = cache->first_name;

        forget_name(cache, entry);
        if (!entry->known && !entry->unwritten)
            remove_entry(cache, entry);
    }
}

/* ---- values ---- */

static void drop_value(struct key_cache *cache, struct buf *value)
{
    if (cache->spare_values != NULL && cache->spare_count < SPARES_MAX && value->capacity > 0 &&
        value->capacity <= SPARE_SIZE_MAX) {
        cache->spare_values[cache->spare_count++] = *value;
        return;
    }
    cache->bytes -= value->capacity;
    buf_free(value);
}

/* An empty value, with memory if some is spare. */
static struct buf take_spare(struct key_cache *cache)
{
    if (cache->spare_values == NULL)
        cache->spare_values = calloc(SPARES_MAX, sizeof *cache->spare_values);
    return cache->spare_count > 0 ? cache->spare_values[--cache->spare_count] : (struct buf){0};
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

int key_cache_learn(struct key_cache *cache, struct iovec key, const struct iovec *value,
                    uint64_t checksum)
{
    struct key_cache_entry *entry;

    if (cache->lost || is_cache_full(cache))
        return 0;
    entry = key_cache_provide(cache, key);
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

static struct key_cache_step *add_cache_step(struct key_cache *cache, struct key_cache_entry *entry)
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

/* Returns true if a step has what the entry was at the last savepoint. */
static bool has_step(const struct key_cache *cache, const struct key_cache_entry *entry)
{
    const size_t index = entry->step - 1; /* SIZE_MAX: no step */

    return index < cache->step_count && index >= cache->savepoints[cache->savepoint_count - 1] &&
           cache->steps[index].entry == entry && !cache->steps[index].wrote;
}

/* Moves the value into a step; the caller sets another one. */
static int keep_step(struct key_cache *cache, struct key_cache_entry *entry)
{
    struct key_cache_step *step;

    if (cache->savepoint_count == 0 || has_step(cache, entry))
        return 0;
    step = add_cache_step(cache, entry);
    if (step == NULL)
        return -1;
    step->known = entry->known;
    step->present = entry->present;
    step->checksum = entry->checksum;
    step->value = entry->value;
    entry->step = cache->step_count;
    entry->value = take_spare(cache);
    buf_clear(&entry->value);
    return 0;
}

int key_cache_change(struct key_cache *cache, struct key_cache_entry *entry,
                     const struct iovec *value, uint64_t checksum, bool was)
{
    if (!entry->known)
        entry->stored = was;
    if (keep_step(cache, entry) != 0)
        return -1;
    add_unwritten(cache, entry);
    return know(cache, entry, value, checksum);
}

int key_cache_pass(struct key_cache *cache, struct key_cache_entry *entry, bool was)
{
    if (!entry->known)
        entry->stored = was;
    if (keep_step(cache, entry) != 0)
        return -1;
    cache->bytes -= entry->value.capacity;
    buf_free(&entry->value);
    entry->known = entry->present = false;
    entry->checksum = 0;
    entry->stored = true;
    return 0;
}

struct key_cache_entry *key_cache_unwritten(const struct key_cache *cache)
{
    return cache->first_unwritten;
}

void key_cache_keep_once(struct key_cache_entry *entry)
{
    entry->once = true;
}

static int forget_row(struct key_cache *cache, struct key_cache_entry *entry)
{
    if (!entry->known)
        return 0;
    if (keep_step(cache, entry) != 0)
        return -1;
    buf_clear(&entry->value);
    entry->known = entry->present = entry->stored = false;
    entry->checksum = 0;
    return 0;
}

int key_cache_forget(struct key_cache *cache, struct iovec beginning)
{
    cache->lost = cache->savepoint_count > 0;
    for (size_t i = 0; i < cache->slot_count; i++)
        for (struct key_cache_entry *entry = cache->slots[i]; entry != NULL; entry = entry->next)
            if (entry->key_length >= beginning.iov_len &&
                memcmp(entry->key, beginning.iov_base, beginning.iov_len) == 0 &&
                forget_row(cache, entry) != 0)
                return -1;
    return 0;
}

/* The table has a row of this key: neither its name nor that of its first part is new. */
static void forget_new(struct key_cache *cache, struct key_cache_entry *entry)
{
    const char *dot = memchr(entry->key, '.', entry->key_length);
    struct key_cache_entry *part = NULL;

    if (dot != NULL)
        part = find_cache_entry(cache, entry->key, (size_t)(dot - entry->key),
                                hash_cache_key(entry->key, (size_t)(dot - entry->key)));
    if (part != NULL && part->is_new)
        forget_name(cache, part);
    if (entry->is_new)
        forget_name(cache, entry);
}

/* Forgets the entry: the table has no row for it, or one that is rarely read. */
static void forget_value(struct key_cache *cache, struct key_cache_entry *entry)
{
    if (entry->known && entry->present)
        forget_new(cache, entry);
    entry->known = false;
    if (entry->is_new)
        forget_name(cache, entry);
    remove_entry(cache, entry);
}

/* Frees the value, which the table has; a step has the one at the last savepoint. */
static void leave_value(struct key_cache *cache, struct key_cache_entry *entry)
{
    forget_new(cache, entry);
    cache->bytes -= entry->value.capacity;
    buf_free(&entry->value);
    entry->known = entry->present = false;
    entry->checksum = 0;
}

int key_cache_wrote(struct key_cache *cache)
{
    struct key_cache_entry *entry = cache->first_unwritten;
    const bool leaves = cache->savepoint_count > 0 && is_cache_full(cache) &&
                        has_step(cache, entry) && entry->known && entry->present;
    struct key_cache_step *step;

    if (cache->savepoint_count > 0) {
        step = add_cache_step(cache, entry);
        if (step == NULL)
            return -1;
        step->wrote = true;
    }
    if (entry->known)
        entry->stored = entry->present;
    entry->unwritten = false;
    cache->first_unwritten = entry->next_unwritten;
    if (leaves)
        leave_value(cache, entry);
    else if (cache->savepoint_count == 0 &&
             (!(entry->known && entry->present) || entry->once || is_cache_full(cache)))
        forget_value(cache, entry);
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
    if (cache->savepoint_count == 0)
        cache->lost = false;
}

/* Lists the entries to forget, once each: several steps may have the same entry. */
static void note_leaving(struct key_cache_entry *entry, struct key_cache_entry **leaving)
{
    if (!entry->once || entry->unwritten || entry->leaving)
        return;
    entry->leaving = true;
    entry->next_unwritten = *leaving;
    *leaving = entry;
}

void key_cache_release(struct key_cache *cache)
{
    struct key_cache_entry *leaving = NULL, *next;

    /* The outer savepoint still needs the list of what changed. */
    if (--cache->savepoint_count > 0)
        return;
    cache->lost = false;
    while (cache->step_count > 0) {
        struct key_cache_step *step = &cache->steps[--cache->step_count];

        note_leaving(step->entry, &leaving);
        drop_value(cache, &step->value);
    }
    for (; leaving != NULL; leaving = next) {
        next = leaving->next_unwritten;
        forget_value(cache, leaving);
    }
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
    for (struct key_cache_entry *next, *entry = cache->unused; entry != NULL; entry = next) {
        next = entry->next;
        buf_free(&entry->value);
        free(entry);
    }
    while (cache->spare_count > 0)
        buf_free(&cache->spare_values[--cache->spare_count]);
    free(cache->spare_values);
    free(cache->slots);
    free(cache->steps);
    free(cache->savepoints);
    *cache = (struct key_cache){0};
}
