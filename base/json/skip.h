/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_BASE_JSON_SKIP_H
#define GASPIPE_BASE_JSON_SKIP_H

#include <stdbool.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* Finds the end of a JSON value, 64 bytes at a time, for base/json/scan.h and slog/read/record.h.
 * SCAN_PADDING bytes after the text must be readable. */

/* The kinds of instructions to use; all return the same. */
enum skip_way {
    SKIP_PORTABLE,
    SKIP_SSE2,
    SKIP_AVX2,
    SKIP_WAYS,
};

/* Selects the instructions, before other threads run. The start of the program selects the best
 * that the CPU has. Returns false if the CPU lacks them. */
bool skip_choose(enum skip_way way);

/* Returns the position after the bracket that closes the one at `at`; NULL if none before `end`. */
extern const char *(*skip_nested)(const char *at, const char *end);

/* Returns the position after the quote that ends the string whose text continues at `at`; NULL if
 * none before `end`. */
extern const char *(*skip_long_string)(const char *at, const char *end);

enum { SKIP_STEP = 16 };

/* Returns the index of the first quote or backslash in 16 bytes; 16 if absent. */
static inline unsigned skip_to_quote(const char *at)
{
#ifdef __SSE2__
    __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)at);
    __m128i found = _mm_or_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('"')),
                                 _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\')));
    unsigned mask = (unsigned)_mm_movemask_epi8(found);

    return mask == 0 ? SKIP_STEP : (unsigned)__builtin_ctz(mask);
#else
    unsigned i = 0;

    while (i < SKIP_STEP && at[i] != '"' && at[i] != '\\')
        i++;
    return i;
#endif
}

/* Like skip_long_string(), faster for short strings. */
static inline const char *skip_string(const char *at, const char *end)
{
    unsigned found = skip_to_quote(at);

    if (found < SKIP_STEP && at[found] == '"')
        return at + found < end ? at + found + 1 : (const char *)0;
    return skip_long_string(at, end);
}

#endif
