/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SLOG_NAMES_H
#define GASPIPE_SLOG_NAMES_H

#include <stddef.h>
#include <stdint.h>

/*
 * Gives each distinct string a number from 0 on, in the order of their first
 * coming: vats, methods, kinds of syscall. All zeros is an empty table.
 */
struct names {
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

/* What names_intern() returns when memory ran out. */
#define NAMES_NONE UINT32_MAX

/* The number of a string, a new one when it is new. */
uint32_t names_intern(struct names *names, const char *text, size_t length);

/* The string of a number that names_intern() gave. */
static inline const char *names_text(const struct names *names, uint32_t number)
{
    return names->names[number].text;
}

void names_free(struct names *names);

#endif
