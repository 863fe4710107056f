/* SPDX-License-Identifier: Apache-2.0 */
#include "slog/read/names.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_CAPACITY = 64 };

static uint64_t mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 32;
}

/* Eight bytes at a time, since names are looked up for every line of a slogfile. */
static uint32_t hash_name(const char *text, size_t length)
{
    uint64_t hash = length, word;
    size_t at = 0;

    for (; length - at >= sizeof word; at += sizeof word) {
        memcpy(&word, text + at, sizeof word);
        hash = mix(hash, word);
    }
    for (word = 0; at < length; at++)
        word = word << 8 | (unsigned char)text[at];
    return (uint32_t)mix(hash, word);
}

static void names_place(struct names *names, uint32_t number)
{
    size_t mask = names->slot_count - 1;
    size_t slot = names->names[number].hash & mask;

    while (names->slots[slot] != 0)
        slot = (slot + 1) & mask;
    names->slots[slot] = number + 1;
}

/* Doubles the capacity; the hash table stays at most half full. */
static bool grow_names(struct names *names)
{
    size_t capacity = names->capacity == 0 ? FIRST_CAPACITY : names->capacity * 2;
    struct name *moved;
    uint32_t *slots;

    if (capacity >= NAMES_NONE / 2)
        return false;
    moved = realloc(names->names, capacity * sizeof *moved);
    if (moved == NULL)
        return false;
    names->names = moved;
    slots = calloc(capacity * 2, sizeof *slots);
    if (slots == NULL)
        return false;
    free(names->slots);
    names->slots = slots;
    names->slot_count = capacity * 2;
    names->capacity = capacity;
    for (uint32_t number = 0; number < names->count; number++)
        names_place(names, number);
    return true;
}

/* An empty string may have no address, which memcmp() must not be given. */
static bool is_stored_name(const struct name *name, const char *text, size_t length, uint32_t hash)
{
    return name->hash == hash && name->length == length &&
           (length == 0 || memcmp(name->text, text, length) == 0);
}

static uint32_t names_add(struct names *names, const char *text, size_t length, uint32_t hash)
{
    uint32_t number = (uint32_t)names->count;
    struct name *name;

    if (names->count == names->capacity && !grow_names(names))
        return NAMES_NONE;
    name = &names->names[number];
    name->text = malloc(length + 1);
    if (name->text == NULL)
        return NAMES_NONE;
    if (length > 0)
        memcpy(name->text, text, length);
    name->text[length] = '\0';
    name->length = length;
    name->hash = hash;
    names->count++;
    names_place(names, number);
    return number;
}

uint32_t names_intern(struct names *names, const char *text, size_t length)
{
    uint32_t hash = hash_name(text, length);
    size_t mask = names->slot_count - 1;

    if (names->slot_count == 0)
        return names_add(names, text, length, hash);
    for (size_t slot = hash & mask; names->slots[slot] != 0; slot = (slot + 1) & mask) {
        uint32_t number = names->slots[slot] - 1;

        if (is_stored_name(&names->names[number], text, length, hash))
            return number;
    }
    return names_add(names, text, length, hash);
}

void names_free(struct names *names)
{
    for (size_t i = 0; i < names->count; i++)
        free(names->names[i].text);
    free(names->names);
    free(names->slots);
    *names = (struct names){0};
}
