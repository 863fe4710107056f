/* SPDX-License-Identifier: Apache-2.0 */
#include "base/option/similar.h"

#include <stdio.h>
#include <string.h>

/* Names are short; a longer word is a typo of none. */
enum { LENGTH_MAX = 63 };

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/*
 * Restricted Damerau-Levenshtein distance. rows[i % 3][j] is that of the first i letters of `from`
 * and the first j of `to`. Neither is longer than LENGTH_MAX.
 */
static size_t distance(const char *from, const char *to)
{
    const size_t from_length = strlen(from), to_length = strlen(to);
    size_t rows[3][LENGTH_MAX + 1];

    for (size_t j = 0; j <= to_length; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= from_length; i++) {
        size_t *row = rows[i % 3], *above = rows[(i + 2) % 3], *second = rows[(i + 1) % 3];

        row[0] = i;
        for (size_t j = 1; j <= to_length; j++) {
            row[j] =
                least(least(above[j], row[j - 1]) + 1, above[j - 1] + (from[i - 1] != to[j - 1]));
            if (i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1])
                row[j] = least(row[j], second[j - 2] + 1);
        }
    }
    return rows[from_length % 3][to_length];
}

void similar_try(struct similar *similar, const char *name)
{
    const size_t length = strlen(similar->word), limit = (length + 2) / 3;
    size_t found;

    if (length == 0 || length > LENGTH_MAX || strlen(name) > LENGTH_MAX)
        return;
    found = strncmp(name, similar->word, length) == 0 ? 1 : distance(similar->word, name);
    if (found > limit || (similar->best[0] != '\0' && found >= similar->distance))
        return;
    memcpy(similar->best, name, strlen(name) + 1);
    similar->distance = found;
}

const char *similar_hint(struct similar *similar, const char *before)
{
    similar->hint[0] = '\0';
    if (similar->best[0] != '\0')
        snprintf(similar->hint, sizeof similar->hint, "; did you mean %s%s?", before,
                 similar->best);
    return similar->hint;
}
