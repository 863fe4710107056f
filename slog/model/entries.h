/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SLOG_MODEL_ENTRIES_H
#define GASPIPE_SLOG_MODEL_ENTRIES_H

#include <stddef.h>
#include <stdint.h>

#include "base/json/scan.h"
#include "slog/read/names.h"

/* How many lines of each type came. All zeros is none. */
struct entries {
    struct names types; /* fit for a terminal, in the order of their first coming */
    uint64_t *counts;   /* by number in types; owned */
    size_t capacity;
};

/* Counts a line of this type (a string as scan_string() gives it). -1 when memory ran out. */
int entries_add(struct entries *entries, struct scan_span type);

void entries_free(struct entries *entries);

#endif
