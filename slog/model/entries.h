/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SLOG_MODEL_ENTRIES_H
#define GASPIPE_SLOG_MODEL_ENTRIES_H

#include <stddef.h>
#include <stdint.h>

#include "slog/read/names.h"
#include "slog/read/record.h"

/* How many lines of each type came. All zeros is none. */
struct entries {
    struct names types; /* fit for a terminal, in the order of their first coming */
    uint64_t *counts;   /* by number in types; owned */
    size_t capacity;
    uint32_t known[RECORD_TYPES]; /* number + 1 of a type with one name; 0: it has not come, or has
                                     several */
};

/* Counts a line. -1 when memory ran out. */
int entries_add(struct entries *entries, const struct record *record);

void entries_free(struct entries *entries);

#endif
