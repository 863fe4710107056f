/* SPDX-License-Identifier: Apache-2.0 */
#include "slog/model/entries.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "slog/model/describe.h"

static uint32_t find_type(struct entries *entries, struct scan_span type)
{
    struct buf clean = {0};
    uint32_t number = NAMES_NONE;

    describe_string(type, &clean);
    if (!buf_failed(&clean))
        number = names_intern(&entries->types, clean.data, clean.length);
    buf_free(&clean);
    if (number != NAMES_NONE)
        names_remember(&entries->types, type.at, type.length, number);
    return number;
}

static int reserve(struct entries *entries, uint32_t number)
{
    size_t before = entries->capacity;
    uint64_t *counts;

    if (number < before)
        return 0;
    counts = array_reserve(entries->counts, &entries->capacity, number + (size_t)1,
                           sizeof *entries->counts);
    if (counts == NULL)
        return -1;
    memset(counts + before, 0, (entries->capacity - before) * sizeof *counts);
    entries->counts = counts;
    return 0;
}

int entries_add(struct entries *entries, struct scan_span type)
{
    uint32_t number = names_recall(&entries->types, type.at, type.length);

    if (number == NAMES_NONE)
        number = find_type(entries, type);
    if (number == NAMES_NONE || reserve(entries, number) != 0)
        return -1;
    entries->counts[number]++;
    return 0;
}

void entries_free(struct entries *entries)
{
    names_free(&entries->types);
    free(entries->counts);
    *entries = (struct entries){0};
}
