/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json/scan.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "base/json/skip.h"

/* The first byte of 16 that no number or word has: blank, comma, quote, colon or bracket. */
static inline unsigned first_after_word(const char *at)
{
#ifdef __SSE2__
    __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)at);
    /* One bit tells [ from { and ] from }, and no other character becomes one of them. */
    __m128i folded = _mm_or_si128(bytes, _mm_set1_epi8(0x20));
    __m128i found = _mm_cmpeq_epi8(_mm_min_epu8(bytes, _mm_set1_epi8(0x20)), bytes);
    unsigned mask;

    found = _mm_or_si128(found, _mm_cmpeq_epi8(bytes, _mm_set1_epi8(',')));
    found = _mm_or_si128(found, _mm_cmpeq_epi8(bytes, _mm_set1_epi8('"')));
    found = _mm_or_si128(found, _mm_cmpeq_epi8(bytes, _mm_set1_epi8(':')));
    found = _mm_or_si128(found, _mm_cmpeq_epi8(folded, _mm_set1_epi8('{')));
    found = _mm_or_si128(found, _mm_cmpeq_epi8(folded, _mm_set1_epi8('}')));
    mask = (unsigned)_mm_movemask_epi8(found);
    return mask == 0 ? SKIP_STEP : (unsigned)__builtin_ctz(mask);
#else
    unsigned i = 0;

    while (i < SKIP_STEP && (unsigned char)at[i] > 0x20 && strchr(",\":{}[]", at[i]) == NULL)
        i++;
    return i;
#endif
}

static bool is_blank(char byte)
{
    return byte == ' ' || byte == '\t' || byte == '\r' || byte == '\n';
}

static const char *skip_blanks(const char *at, const char *end)
{
    while (at < end && is_blank(*at))
        at++;
    return at;
}

/* Behind a number, true, false or null: what ends it is never part of one. */
static inline const char *skip_word(const char *at, const char *end)
{
    const char *start = at;
    unsigned step;

    do {
        step = first_after_word(at);
        at += step;
    } while (step == SKIP_STEP && at < end);
    if (at > end)
        at = end;
    return at == start ? NULL : at;
}

const char *scan_skip(const char *at, const char *end)
{
    if (at >= end)
        return NULL;
    if (*at == '"')
        return skip_string(at + 1, end);
    if (*at == '{' || *at == '[')
        return skip_nested(at, end);
    return skip_word(at, end);
}

bool scan_open(struct scan_span value, char bracket, struct scan_cursor *cursor)
{
    if (value.at == NULL)
        return false;
    cursor->end = value.at + value.length;
    cursor->at = skip_blanks(value.at, cursor->end);
    return cursor->at < cursor->end && *cursor->at == bracket;
}

/*
 * Goes from the opening bracket or the end of a value to where the next value
 * or key begins. A comma must have something behind it.
 */
static enum scan_step next_item(struct scan_cursor *cursor, char open, char close)
{
    const char *at = skip_blanks(cursor->at, cursor->end);
    bool first = at < cursor->end && *at == open;

    if (at == cursor->end)
        return SCAN_BAD;
    if (*at == close) {
        cursor->at = at + 1;
        return SCAN_END;
    }
    if (!first && *at != ',')
        return SCAN_BAD;
    at = skip_blanks(at + 1, cursor->end);
    if (first && at < cursor->end && *at == close) {
        cursor->at = at + 1;
        return SCAN_END;
    }
    cursor->at = at;
    return SCAN_FOUND;
}

static enum scan_step take_value(struct scan_cursor *cursor, struct scan_span *value)
{
    const char *after = scan_skip(cursor->at, cursor->end);

    if (after == NULL)
        return SCAN_BAD;
    *value = (struct scan_span){cursor->at, (size_t)(after - cursor->at)};
    cursor->at = after;
    return SCAN_FOUND;
}

enum scan_step scan_element(struct scan_cursor *cursor, struct scan_span *value)
{
    enum scan_step step = next_item(cursor, '[', ']');

    return step == SCAN_FOUND ? take_value(cursor, value) : step;
}

enum scan_step scan_member(struct scan_cursor *cursor, struct scan_span *key,
                           struct scan_span *value)
{
    enum scan_step step = next_item(cursor, '{', '}');
    const char *after;

    if (step != SCAN_FOUND)
        return step;
    if (cursor->at == cursor->end || *cursor->at != '"')
        return SCAN_BAD;
    after = skip_string(cursor->at + 1, cursor->end);
    if (after == NULL)
        return SCAN_BAD;
    *key = (struct scan_span){cursor->at + 1, (size_t)(after - cursor->at) - 2};
    after = skip_blanks(after, cursor->end);
    if (after == cursor->end || *after != ':')
        return SCAN_BAD;
    cursor->at = skip_blanks(after + 1, cursor->end);
    return take_value(cursor, value);
}

bool scan_at_end(struct scan_cursor *cursor)
{
    return skip_blanks(cursor->at, cursor->end) == cursor->end;
}

struct scan_span scan_get(struct scan_span object, const char *name)
{
    struct scan_span key, value, found = {0};
    struct scan_cursor cursor;

    if (!scan_open(object, '{', &cursor))
        return found;
    while (scan_member(&cursor, &key, &value) == SCAN_FOUND) {
        if (scan_is(key, name))
            found = value;
    }
    return found;
}

struct scan_span scan_string(struct scan_span value)
{
    if (value.at == NULL || value.length < 2 || value.at[0] != '"')
        return (struct scan_span){0};
    return (struct scan_span){value.at + 1, value.length - 2};
}
