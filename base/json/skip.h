/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_BASE_JSON_SKIP_H
#define GASPIPE_BASE_JSON_SKIP_H

#include <stdbool.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

/*
 * Finds where a JSON value ends, 64 bytes at a time: what base/json/scan.h and
 * slog/read/record.h are made of. Its texts have SCAN_PADDING readable bytes behind
 * their end.
 */

/* The instructions that it is done with; each finds the same. */
enum skip_way {
    SKIP_PORTABLE,
    SKIP_SSE2,
    SKIP_AVX2,
    SKIP_WAYS,
};

/*
 * The best one that the processor has is chosen at the program's start; another
 * one by this, before any other thread runs. False when the processor lacks it.
 */
bool skip_choose(enum skip_way way);

/* Behind the bracket that closes the one at `at`; NULL: none before `end`. */
extern const char *(*skip_nested)(const char *at, const char *end);

/* Behind the quote that ends the string whose text goes on at `at`; NULL: none before `end`. */
extern const char *(*skip_long_string)(const char *at, const char *end);

enum { SKIP_STEP = 16 };

/* The first quote or backslash in 16 bytes; 16 when there is none. */
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

/* As skip_long_string(), quicker when the string is short. */
static inline const char *skip_string(const char *at, const char *end)
{
    unsigned found = skip_to_quote(at);

    if (found < SKIP_STEP && at[found] == '"')
        return at + found < end ? at + found + 1 : (const char *)0;
    return skip_long_string(at, end);
}

#endif
