/* SPDX-License-Identifier: Apache-2.0 */
#include "slog/scan.h"

#include <math.h>
#include <stdlib.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum { BLOCK = 64, SIXTEEN = 16 };

_Static_assert((int)SCAN_PADDING >= (int)BLOCK, "a block may begin at the last byte of the text");

/* Where in a block of 64 bytes something stands: bit N for byte N. */
struct block {
    uint64_t quotes;
    uint64_t backslashes;
    uint64_t opens;  /* { and [ */
    uint64_t closes; /* } and ] */
};

#ifdef __SSE2__

static inline uint64_t mask_of(__m128i bytes, char wanted)
{
    return (uint64_t)(uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_set1_epi8(wanted)));
}

static inline struct block load_block(const char *at)
{
    struct block block = {0};

    for (int i = 0; i < BLOCK; i += SIXTEEN) {
        __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)(at + i));
        /* One bit tells [ from { and ] from }, and no other character becomes one of them. */
        __m128i folded = _mm_or_si128(bytes, _mm_set1_epi8(0x20));

        block.quotes |= mask_of(bytes, '"') << i;
        block.backslashes |= mask_of(bytes, '\\') << i;
        block.opens |= mask_of(folded, '{') << i;
        block.closes |= mask_of(folded, '}') << i;
    }
    return block;
}

/* The first quote or backslash in 16 bytes; 16 when there is none. */
static inline unsigned first_quote_or_backslash(const char *at)
{
    __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)at);
    uint64_t found = mask_of(bytes, '"') | mask_of(bytes, '\\');

    return found == 0 ? SIXTEEN : (unsigned)__builtin_ctzll(found);
}

/* The first byte of 16 that no number or word has: blank, comma, quote, colon or bracket. */
static inline unsigned first_after_word(const char *at)
{
    __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)at);
    __m128i folded = _mm_or_si128(bytes, _mm_set1_epi8(0x20));
    __m128i blanks = _mm_cmpeq_epi8(_mm_min_epu8(bytes, _mm_set1_epi8(0x20)), bytes);
    uint64_t found = mask_of(bytes, ',') | mask_of(bytes, '"') | mask_of(bytes, ':') |
                     mask_of(folded, '{') | mask_of(folded, '}') |
                     (uint64_t)(uint32_t)_mm_movemask_epi8(blanks);

    return found == 0 ? SIXTEEN : (unsigned)__builtin_ctzll(found);
}

#else

static struct block load_block(const char *at)
{
    struct block block = {0};

    for (int i = 0; i < BLOCK; i++) {
        uint64_t bit = (uint64_t)1 << i;

        block.quotes |= at[i] == '"' ? bit : 0;
        block.backslashes |= at[i] == '\\' ? bit : 0;
        block.opens |= at[i] == '{' || at[i] == '[' ? bit : 0;
        block.closes |= at[i] == '}' || at[i] == ']' ? bit : 0;
    }
    return block;
}

static unsigned first_quote_or_backslash(const char *at)
{
    unsigned i = 0;

    while (i < SIXTEEN && at[i] != '"' && at[i] != '\\')
        i++;
    return i;
}

static unsigned first_after_word(const char *at)
{
    unsigned i = 0;

    while (i < SIXTEEN && (unsigned char)at[i] > 0x20 && strchr(",\":{}[]", at[i]) == NULL)
        i++;
    return i;
}

#endif

/*
 * The bytes that a backslash escapes. *carry says whether the block's first
 * byte is escaped by the block before, and gets the same for the next one.
 */
static inline uint64_t escaped_bytes(uint64_t backslashes, uint64_t *carry)
{
    uint64_t escaped = *carry;

    backslashes &= ~*carry;
    *carry = 0;
    while (backslashes != 0) {
        uint64_t lowest = backslashes & -backslashes;

        *carry = lowest >> 63;
        escaped |= lowest << 1;
        backslashes &= ~(lowest | lowest << 1);
    }
    return escaped;
}

/* Bit N of the result: how many of bits 0 to N are set, odd or even. */
static inline uint64_t parity_up_to(uint64_t bits)
{
    bits ^= bits << 1;
    bits ^= bits << 2;
    bits ^= bits << 4;
    bits ^= bits << 8;
    bits ^= bits << 16;
    bits ^= bits << 32;
    return bits;
}

static const char *skip_long_string(const char *at, const char *end)
{
    uint64_t carry = 0;

    for (; at < end; at += BLOCK) {
        struct block block = load_block(at);
        uint64_t quotes = block.quotes & ~escaped_bytes(block.backslashes, &carry);

        if (quotes != 0) {
            at += __builtin_ctzll(quotes);
            return at < end ? at + 1 : NULL;
        }
    }
    return NULL;
}

/* Behind the quote that ends the string whose text begins at `at`; NULL: none before `end`. */
static inline const char *skip_string(const char *at, const char *end)
{
    unsigned found = first_quote_or_backslash(at);

    if (found < SIXTEEN && at[found] == '"')
        return at + found < end ? at + found + 1 : NULL;
    return skip_long_string(at, end);
}

/* The bit of the bracket at which `depth` falls to nought; *depth is nought then. */
static unsigned find_close(uint64_t opens, uint64_t closes, uint64_t *depth)
{
    uint64_t brackets = opens | closes;

    while (brackets != 0) {
        uint64_t lowest = brackets & -brackets;

        *depth += (opens & lowest) != 0 ? 1 : (uint64_t)-1;
        if (*depth == 0)
            return (unsigned)__builtin_ctzll(lowest);
        brackets &= ~lowest;
    }
    return BLOCK;
}

/* Behind the bracket that closes the one at `at`; NULL: none before `end`. */
static const char *skip_nested(const char *at, const char *end)
{
    uint64_t carry = 0, inside = 0, depth = 1;

    for (at++; at < end; at += BLOCK) {
        struct block block = load_block(at);
        uint64_t quotes = block.quotes & ~escaped_bytes(block.backslashes, &carry);
        uint64_t strings = parity_up_to(quotes) ^ inside;
        uint64_t opens = block.opens & ~strings, closes = block.closes & ~strings;
        unsigned bit;

        inside = (uint64_t)0 - (strings >> 63);
        bit = find_close(opens, closes, &depth);
        if (depth == 0)
            return at + bit < end ? at + bit + 1 : NULL;
    }
    return NULL;
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
    } while (step == SIXTEEN && at < end);
    if (at > end)
        at = end;
    return at == start ? NULL : at;
}

static inline const char *skip_value(const char *at, const char *end)
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
    const char *after = skip_value(cursor->at, cursor->end);

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

/* ---- numbers ------------------------------------------------------------ */

bool scan_double(struct scan_span value, double *result)
{
    char text[64], *end;

    if (value.at == NULL || value.length == 0 || value.length >= sizeof text)
        return false;
    if (*value.at != '-' && (*value.at < '0' || *value.at > '9'))
        return false;
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

/* Digits of the integer part, at most 18 with those of the fraction. */
enum { DIGITS_THAT_FIT = 18 };

bool scan_decimal(struct scan_span value, int scale, int64_t *result)
{
    const char *at = value.at, *end = at + value.length;
    bool negative = value.length > 0 && *at == '-';
    int64_t number = 0;
    const char *digits;
    int left = scale;

    at += negative;
    digits = at;
    for (; at < end && *at >= '0' && *at <= '9'; at++)
        number = (int64_t)((uint64_t)number * 10 + (uint64_t)(*at - '0'));
    if (at == digits || at - digits > DIGITS_THAT_FIT - scale)
        return at != digits && decimal_by_double(value, scale, result);
    if (at < end && *at == '.') {
        for (at++; left > 0 && at < end && *at >= '0' && *at <= '9'; at++, left--)
            number = number * 10 + (*at - '0');
        digits = at;
        while (at < end && *at >= '0' && *at <= '9')
            at++;
    } else {
        digits = end;
    }
    if (at != end)
        return decimal_by_double(value, scale, result);
    for (; left > 0; left--)
        number *= 10;
    if (digits < end && *digits >= '5')
        number++;
    *result = negative ? -number : number;
    return true;
}

/* ---- strings ------------------------------------------------------------ */

enum { REPLACEMENT = 0xfffd };

static void append_utf8(struct buf *text, uint32_t point)
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

/* What follows \u at `at`, with the second half of a surrogate pair; returns behind it. */
static const char *unescape_unicode(const char *at, const char *end, struct buf *text)
{
    uint32_t unit, low;

    if (!scan_hex_unit(at, end, &unit)) {
        append_utf8(text, REPLACEMENT);
        return at;
    }
    at += 4;
    if (unit < 0xd800 || unit > 0xdfff) {
        append_utf8(text, unit);
        return at;
    }
    if (unit < 0xdc00 && end - at >= 6 && at[0] == '\\' && at[1] == 'u' &&
        scan_hex_unit(at + 2, end, &low) && low >= 0xdc00 && low <= 0xdfff) {
        append_utf8(text, 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00));
        return at + 6;
    }
    append_utf8(text, REPLACEMENT);
    return at;
}

/* The escape whose letter is at `at`; returns behind it. */
static const char *unescape_one(const char *at, const char *end, struct buf *text)
{
    static const char letters[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
    const char *letter;

    if (*at == 'u')
        return unescape_unicode(at + 1, end, text);
    letter = *at == '\0' ? NULL : strchr(letters, *at);
    if (letter == NULL)
        append_utf8(text, REPLACEMENT);
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
