/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json/scan.h"

#include <math.h>
#include <stdlib.h>

#include "base/json/decimal.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "base/json/skip.h"

/* Returns the index of the first of 16 bytes that ends a number or word: blank, comma, quote, colon
 * or bracket. */
static inline unsigned first_after_word(const char *at)
{
#ifdef __SSE2__
    __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)at);
    /* One bit distinguishes [ from { and ] from }, and no other character becomes one of them. */
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

static bool is_scan_blank(char byte)
{
    return byte == ' ' || byte == '\t' || byte == '\r' || byte == '\n';
}

static const char *scan_blanks(const char *at, const char *end)
{
    while (at < end && is_scan_blank(*at))
        at++;
    return at;
}

/* Returns the position after a number, true, false or null, which are never part of what ends
 * them. */
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
    cursor->at = scan_blanks(value.at, cursor->end);
    return cursor->at < cursor->end && *cursor->at == bracket;
}

/* Advances from the opening bracket or the end of a value to the next value or key. A comma must be
 * followed by one. */
static enum scan_step next_item(struct scan_cursor *cursor, char open, char close)
{
    const char *at = scan_blanks(cursor->at, cursor->end);
    bool first = at < cursor->end && *at == open;

    if (at == cursor->end)
        return SCAN_BAD;
    if (*at == close) {
        cursor->at = at + 1;
        return SCAN_END;
    }
    if (!first && *at != ',')
        return SCAN_BAD;
    at = scan_blanks(at + 1, cursor->end);
    if (first && at < cursor->end && *at == close) {
        cursor->at = at + 1;
        return SCAN_END;
    }
    cursor->at = at;
    return SCAN_FOUND;
}

static enum scan_step scan_value(struct scan_cursor *cursor, struct scan_span *value)
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

    return step == SCAN_FOUND ? scan_value(cursor, value) : step;
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
    after = scan_blanks(after, cursor->end);
    if (after == cursor->end || *after != ':')
        return SCAN_BAD;
    cursor->at = scan_blanks(after + 1, cursor->end);
    return scan_value(cursor, value);
}

bool scan_at_end(struct scan_cursor *cursor)
{
    return scan_blanks(cursor->at, cursor->end) == cursor->end;
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

/* Decimal digits that a double holds exactly. */
enum { EXACT_DIGITS = 15 };

/* Parses a number that is all digits, as most are, without strtod(). */
static bool is_whole(struct scan_span value, double *result)
{
    int64_t number = 0;

    for (size_t i = 0; i < value.length; i++) {
        if (value.at[i] < '0' || value.at[i] > '9')
            return false;
        number = number * 10 + (value.at[i] - '0');
    }
    *result = (double)number;
    return true;
}

bool scan_double(struct scan_span value, double *result)
{
    char text[64], *end;

    if (value.at == NULL || value.length == 0 || value.length >= sizeof text)
        return false;
    if (*value.at != '-' && (*value.at < '0' || *value.at > '9'))
        return false;
    if (value.length <= EXACT_DIGITS && is_whole(value, result))
        return true;
    memcpy(text, value.at, value.length);
    text[value.length] = '\0';
    *result = strtod(text, &end);
    return *end == '\0' && isfinite(*result);
}

/* For numbers with an exponent or more digits than an int64_t has. */
static bool decimal_by_double(struct scan_span value, int scale, int64_t *result)
{
    double number;

    if (!scan_double(value, &number))
        return false;
    number = round(number * pow(10, scale));
    if (!(fabs(number) < 0x1p63))
        return false;
    *result = (int64_t)number;
    return true;
}

bool scan_decimal(struct scan_span value, int scale, int64_t *result)
{
    /* A copy: the bytes after the value could be read as part of the number. */
    char text[64 + SCAN_PADDING] = {0};
    const char *after;

    if (value.at == NULL || value.length == 0 || value.length >= 64)
        return false;
    memcpy(text, value.at, value.length);
    after = decimal_read(text, text + value.length, scale, result);
    return after == text + value.length || decimal_by_double(value, scale, result);
}

enum { REPLACEMENT = 0xfffd };

static void append_code_point(struct buf *text, uint32_t point)
{
    if (point < 0x80) {
        buf_append_byte(text, (char)point);
    } else if (point < 0x800) {
        buf_append_byte(text, (char)(0xc0 | point >> 6));
        buf_append_byte(text, (char)(0x80 | (point & 0x3f)));
    } else if (point < 0x10000) {
        buf_append_byte(text, (char)(0xe0 | point >> 12));
        buf_append_byte(text, (char)(0x80 | (point >> 6 & 0x3f)));
        buf_append_byte(text, (char)(0x80 | (point & 0x3f)));
    } else {
        buf_append_byte(text, (char)(0xf0 | point >> 18));
        buf_append_byte(text, (char)(0x80 | (point >> 12 & 0x3f)));
        buf_append_byte(text, (char)(0x80 | (point >> 6 & 0x3f)));
        buf_append_byte(text, (char)(0x80 | (point & 0x3f)));
    }
}

static int hex_digit(char byte)
{
    if (byte >= '0' && byte <= '9')
        return byte - '0';
    if (byte >= 'a' && byte <= 'f')
        return byte - 'a' + 10;
    if (byte >= 'A' && byte <= 'F')
        return byte - 'A' + 10;
    return -1;
}

bool scan_hex_unit(const char *at, const char *end, uint32_t *unit)
{
    *unit = 0;
    if (end - at < 4)
        return false;
    for (int i = 0; i < 4; i++) {
        int digit = hex_digit(at[i]);

        if (digit < 0)
            return false;
        *unit = *unit << 4 | (uint32_t)digit;
    }
    return true;
}

/* Decodes the digits of a \u escape, and the second half of a surrogate pair. Returns the position
 * after them. */
static const char *unescape_unicode(const char *at, const char *end, struct buf *text)
{
    uint32_t unit, low;

    if (!scan_hex_unit(at, end, &unit)) {
        append_code_point(text, REPLACEMENT);
        return at;
    }
    at += 4;
    if (unit < 0xd800 || unit > 0xdfff) {
        append_code_point(text, unit);
        return at;
    }
    if (unit < 0xdc00 && end - at >= 6 && at[0] == '\\' && at[1] == 'u' &&
        scan_hex_unit(at + 2, end, &low) && low >= 0xdc00 && low <= 0xdfff) {
        append_code_point(text, 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00));
        return at + 6;
    }
    append_code_point(text, REPLACEMENT);
    return at;
}

/* Decodes the escape whose letter is at `at`. Returns the position after it. */
static const char *unescape_one(const char *at, const char *end, struct buf *text)
{
    static const char letters[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
    const char *letter;

    if (*at == 'u')
        return unescape_unicode(at + 1, end, text);
    letter = *at == '\0' ? NULL : strchr(letters, *at);
    if (letter == NULL)
        append_code_point(text, REPLACEMENT);
    else
        buf_append_byte(text, meanings[letter - letters]);
    return at + 1;
}

void scan_unescape(struct scan_span string, struct buf *text)
{
    const char *at = string.at, *end = at + string.length;

    while (at < end) {
        const char *backslash = memchr(at, '\\', (size_t)(end - at));

        if (backslash == NULL) {
            buf_append(text, at, (size_t)(end - at));
            return;
        }
        buf_append(text, at, (size_t)(backslash - at));
        if (backslash + 1 == end)
            return;
        at = unescape_one(backslash + 1, end, text);
    }
}
