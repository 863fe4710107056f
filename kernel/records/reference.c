/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/records/reference.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/text/format.h"
#include "kernel/records/keys.h"
#include "kernel/state.h"

#define REFERENCE_LIMIT ((int64_t)9007199254740991) /* 2^53 - 1, what JavaScript counts exactly */

static const char letters[] = {
    [REFERENCE_OBJECT] = 'o',
    [REFERENCE_DEVICE] = 'd',
    [REFERENCE_PROMISE] = 'p',
};

static bool read_kind(char letter, enum reference_kind *kind)
{
    for (size_t i = 0; i < sizeof letters; i++) {
        if (letters[i] == letter) {
            *kind = (enum reference_kind)i;
            return true;
        }
    }
    return false;
}

/* Reads a number in its one spelling at *at, and advances *at past it. */
static bool read_id(const char **at, const char *end, int64_t *id)
{
    const char *start = *at;
    int64_t number = 0;

    while (*at < end && **at >= '0' && **at <= '9') {
        number = number * 10 + (**at - '0');
        if (number > REFERENCE_LIMIT)
            return false;
        (*at)++;
    }
    *id = number;
    return *at > start && (*start != '0' || *at == start + 1);
}

static bool skip_text(const char **at, const char *end, char expected)
{
    if (*at == end || **at != expected)
        return false;
    (*at)++;
    return true;
}

/* Reads KIND/INSTANCE or KIND/INSTANCE:FACET after "o+d" or "o+v". */
static bool read_virtual(const char *at, const char *end)
{
    int64_t id;

    return read_id(&at, end, &id) && skip_text(&at, end, '/') && read_id(&at, end, &id) &&
           (at == end || (skip_text(&at, end, ':') && read_id(&at, end, &id) && at == end));
}

bool reference_read_vref(struct vref *vref, const char *bytes, size_t length)
{
    const char *at = bytes + 2, *end = bytes + length;
    int64_t id;

    if (length < 3 || length >= VREF_SIZE || !read_kind(bytes[0], &vref->kind) ||
        (bytes[1] != '+' && bytes[1] != '-'))
        return false;
    vref->by_vat = bytes[1] == '+';
    memcpy(vref->text, bytes, length);
    vref->text[length] = '\0';
    if (vref->kind == REFERENCE_OBJECT && vref->by_vat && (*at == 'd' || *at == 'v'))
        return read_virtual(at + 1, end);
    return read_id(&at, end, &id) && at == end;
}

bool reference_read_kref(enum reference_kind *kind, const char *text)
{
    const char *at, *end;
    int64_t id;

    if (text == NULL)
        return false;
    end = text + strlen(text);
    if (end - text < 3 || text[0] != 'k' || !read_kind(text[1], kind))
        return false;
    at = text + 2;
    return read_id(&at, end, &id) && at == end;
}

enum reference_kind reference_kref_kind(const char *kref)
{
    enum reference_kind kind = REFERENCE_OBJECT;

    (void)read_kind(kref[1], &kind);
    return kind;
}

void reference_make_kref(char kref[KERNEL_REF_SIZE], enum reference_kind kind, int64_t id)
{
    format_text(kref, KERNEL_REF_SIZE, "k%c%" PRId64, letters[kind], id);
}

void reference_make_import(char vref[VREF_SIZE], enum reference_kind kind, int64_t id)
{
    format_text(vref, VREF_SIZE, "%c-%" PRId64, letters[kind], id);
}

char reference_letter(enum reference_kind kind)
{
    return letters[kind];
}

bool reference_read_number(const char *text, char letter, int64_t *number)
{
    const char *at;

    if (text == NULL || text[0] != letter)
        return false;
    at = text + 1;
    return read_id(&at, text + strlen(text), number) && *at == '\0';
}

enum { FIRST_SLOTS = 64 };

/* FNV-1a, http://www.isthe.com/chongo/tech/comp/fnv/ */
static uint64_t hash_kref(const char *kref)
{
    uint64_t hash = 14695981039346656037U;

    for (; *kref != '\0'; kref++)
        hash = (hash ^ (unsigned char)*kref) * 1099511628211U;
    return hash;
}

/* The slot that has the kref, or the free one for it. slot_count is a power of two. */
static size_t find_set_slot(const struct reference_set *set, const char *kref)
{
    size_t slot = hash_kref(kref) & (set->slot_count - 1);

    while (set->slots[slot] != 0 && strcmp(set->items[set->slots[slot] - 1], kref) != 0)
        slot = (slot + 1) & (set->slot_count - 1);
    return slot;
}

/* Keeps at least half of the slots free. */
static int reserve_slots(struct reference_set *set, struct error *error)
{
    size_t count = set->slot_count == 0 ? FIRST_SLOTS : set->slot_count * 2;
    size_t *slots;

    if (set->count * 2 < set->slot_count)
        return 0;
    slots = calloc(count, sizeof *slots);
    if (slots == NULL)
        return error_memory(error, "a set of references");
    free(set->slots);
    set->slots = slots;
    set->slot_count = count;
    for (size_t i = 0; i < set->count; i++)
        set->slots[find_set_slot(set, set->items[i])] = i + 1;
    return 0;
}

int reference_set_add(struct reference_set *set, const char *kref, struct error *error)
{
    char(*items)[KERNEL_REF_SIZE];
    size_t slot;

    if (reserve_slots(set, error) != 0)
        return -1;
    slot = find_set_slot(set, kref);
    if (set->slots[slot] != 0)
        return 0;
    items = array_reserve(set->items, &set->capacity, set->count + 1, sizeof *items);
    if (items == NULL)
        return error_memory(error, "a set of references");
    set->items = items;
    strncpy(set->items[set->count], kref, KERNEL_REF_SIZE - 1);
    set->items[set->count][KERNEL_REF_SIZE - 1] = '\0';
    set->slots[slot] = ++set->count;
    return 0;
}

bool reference_set_has(const struct reference_set *set, const char *kref)
{
    return set->slot_count > 0 && set->slots[find_set_slot(set, kref)] != 0;
}

void reference_set_clear(struct reference_set *set)
{
    if (set->count == 0)
        return;
    memset(set->slots, 0, set->slot_count * sizeof *set->slots);
    set->count = 0;
}

void reference_set_free(struct reference_set *set)
{
    free(set->items);
    free(set->slots);
    memset(set, 0, sizeof *set);
}

static int refcount_damaged(const char *kref, struct error *error)
{
    return error_set(error, ERROR_SYSTEM, "the store is damaged: %s.refCount cannot be", kref);
}

int refcount_of_object(struct kernel *kernel, const char *kref, struct object_counts *counts,
                       bool *exists, struct error *error)
{
    char key[KEYS_NAME_SIZE];
    int64_t numbers[2];

    *counts = (struct object_counts){0};
    if (keys_get(kernel, keys_part(key, kref, ".refCount"), &kernel->value, exists, error) != 0)
        return -1;
    if (!*exists)
        return 0;
    if (!keys_read_numbers(buf_string(&kernel->value), numbers, 2) || numbers[0] > numbers[1])
        return refcount_damaged(kref, error);
    *counts = (struct object_counts){.reachable = numbers[0], .recognizable = numbers[1]};
    return 0;
}

int refcount_set_object(struct kernel *kernel, const char *kref, const struct object_counts *counts,
                        struct error *error)
{
    char key[KEYS_NAME_SIZE], text[48];

    if (counts->reachable < 0 || counts->reachable > counts->recognizable)
        return refcount_damaged(kref, error);
    format_text(text, sizeof text, "%" PRId64 ",%" PRId64, counts->reachable, counts->recognizable);
    return keys_set(kernel, keys_part(key, kref, ".refCount"), text, error);
}

static int change_promise(struct kernel *kernel, const char *kpid, int64_t change,
                          struct error *error)
{
    char key[KEYS_NAME_SIZE];
    int64_t count;

    keys_part(key, kpid, ".refCount");
    if (keys_get_number(kernel, key, &count, error) != 0)
        return -1;
    count += change;
    if (count < 0)
        return refcount_damaged(kpid, error);
    if (keys_set_number(kernel, key, count, error) != 0)
        return -1;
    return change < 0 && count == 0 ? reference_set_add(&kernel->maybe_free, kpid, error) : 0;
}

static int change_object(struct kernel *kernel, const char *koid, int64_t change,
                         enum refcount_holder holder, struct error *error)
{
    struct object_counts counts;
    bool exists;

    if (refcount_of_object(kernel, koid, &counts, &exists, error) != 0)
        return -1;
    if (change < 0 && !exists)
        return 0;
    counts.recognizable += change;
    if (holder == REFCOUNT_KERNEL)
        counts.reachable += change;
    if (change < 0 && (counts.reachable == 0 || counts.recognizable == 0) &&
        reference_set_add(&kernel->maybe_free, koid, error) != 0)
        return -1;
    return refcount_set_object(kernel, koid, &counts, error);
}

static int change_count(struct kernel *kernel, const char *kref, int64_t change,
                        enum refcount_holder holder, struct error *error)
{
    switch (reference_kref_kind(kref)) {
    case REFERENCE_PROMISE:
        return change_promise(kernel, kref, change, error);
    case REFERENCE_OBJECT:
        if (holder == REFCOUNT_EXPORT)
            return 0;
        return change_object(kernel, kref, change, holder, error);
    case REFERENCE_DEVICE:
        break;
    }
    return 0;
}

int refcount_increment(struct kernel *kernel, const char *kref, enum refcount_holder holder,
                       struct error *error)
{
    return change_count(kernel, kref, 1, holder, error);
}

int refcount_decrement(struct kernel *kernel, const char *kref, enum refcount_holder holder,
                       struct error *error)
{
    return change_count(kernel, kref, -1, holder, error);
}

static int change_all(struct kernel *kernel, const json_t *krefs, int64_t change,
                      struct error *error)
{
    enum reference_kind kind;
    const json_t *kref;
    size_t i;

    json_array_foreach(krefs, i, kref)
    {
        if (!reference_read_kref(&kind, json_string_value(kref)))
            return error_set(error, ERROR_SYSTEM, "the store is damaged: a list of references");
        if (change_count(kernel, json_string_value(kref), change, REFCOUNT_KERNEL, error) != 0)
            return -1;
    }
    return 0;
}

int refcount_increment_all(struct kernel *kernel, const json_t *krefs, struct error *error)
{
    return change_all(kernel, krefs, 1, error);
}

int refcount_decrement_all(struct kernel *kernel, const json_t *krefs, struct error *error)
{
    return change_all(kernel, krefs, -1, error);
}
