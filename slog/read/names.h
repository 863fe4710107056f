/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SLOG_READ_NAMES_H
#define GASPIPE_SLOG_READ_NAMES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { NAMES_RECENT = 16 };

/* A string of up to 16 bytes, as words that are compared at once. */
struct names_key {
    uint64_t first, last;
    size_t length; /* 0: none */
};

/* A string passed to names_remember(). */
struct names_recent {
    struct names_key key;
    uint32_t number;
};

/*
 * Numbers distinct strings from 0, in the order in which they first come: vats, methods, kinds of
 * syscall. All zeros is an empty table.
 */
struct names {
    struct names_recent recent[NAMES_RECENT];
    struct name *names; /* by number; owned */
    size_t count;
    size_t capacity;
    uint32_t *slots; /* hash table: number + 1, or 0 */
    size_t slot_count;
};

struct name {
    char *text; /* terminated; owned by the table, stays where it is */
    size_t length;
    uint32_t hash;
};

/* names_intern() returns this when out of memory. */
#define NAMES_NONE UINT32_MAX

/* Returns the number of a string and adds it if it is new. `text` may be NULL if `length` is 0. */
uint32_t names_intern(struct names *names, const char *text, size_t length);

/* Up to 8 bytes, as a number. */
static inline uint64_t names_word(const char *at, size_t size)
{
    uint64_t word = 0;

    memcpy(&word, at, size);
    return word;
}

/* Reads overlapping words instead of a loop over bytes. A longer string has no key. */
static inline struct names_key names_key_of(const char *text, size_t length)
{
    if (length > 16 || length == 0)
        return (struct names_key){0};
    if (length >= 8)
        return (struct names_key){names_word(text, 8), names_word(text + length - 8, 8), length};
    if (length >= 4)
        return (struct names_key){names_word(text, 4), names_word(text + length - 4, 4), length};
    return (struct names_key){
        names_word(text, 1),
        names_word(text + length / 2, 1) << 8 | names_word(text + length - 1, 1), length};
}

/* The factor is 2^64 divided by the golden ratio (Knuth, TAOCP 3, 6.4). */
static inline size_t names_place_of(struct names_key key)
{
    return (key.first ^ (key.last + key.length) << 5) * UINT64_C(0x9e3779b97f4a7c15) >> 60;
}

_Static_assert(NAMES_RECENT == 1 << (64 - 60), "a place is the highest bits of a product");

/*
 * Returns the number remembered for a string as it is spelled in a slogfile, without decoding it
 * again; NAMES_NONE if it is not remembered.
 */
static inline uint32_t names_recall(const struct names *names, const char *text, size_t length)
{
    struct names_key key = names_key_of(text, length);
    const struct names_recent *recent = &names->recent[names_place_of(key)];

    if (key.length == 0 || recent->key.length != key.length || recent->key.first != key.first ||
        recent->key.last != key.last)
        return NAMES_NONE;
    return recent->number;
}

static inline void names_remember(struct names *names, const char *text, size_t length,
                                  uint32_t number)
{
    struct names_key key = names_key_of(text, length);

    if (key.length > 0)
        names->recent[names_place_of(key)] = (struct names_recent){key, number};
}

/* The string of a number returned by names_intern(). */
static inline const char *names_text(const struct names *names, uint32_t number)
{
    return names->names[number].text;
}

void names_free(struct names *names);

#endif
