/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json/json_text.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static void append_escape(struct buf *buf, unsigned char byte)
{
    static const char hex[] = "0123456789abcdef";

    switch (byte) {
    case '"':
        buf_append(buf, "\\\"", 2);
        break;
    case '\\':
        buf_append(buf, "\\\\", 2);
        break;
    case '\b':
        buf_append(buf, "\\b", 2);
        break;
    case '\f':
        buf_append(buf, "\\f", 2);
        break;
    case '\n':
        buf_append(buf, "\\n", 2);
        break;
    case '\r':
        buf_append(buf, "\\r", 2);
        break;
    case '\t':
        buf_append(buf, "\\t", 2);
        break;
    default:
        buf_append(buf, "\\u00", 4);
        buf_append_byte(buf, hex[byte >> 4]);
        buf_append_byte(buf, hex[byte & 15]);
        break;
    }
}

/* Returns true if one of eight bytes needs an escape: below 0x20, a quote or a backslash. */
static bool has_escaped(uint64_t bytes)
{
    const uint64_t ones = UINT64_C(0x0101010101010101), highs = ones * 0x80;
    const uint64_t quotes = bytes ^ ones * '"', backslashes = bytes ^ ones * '\\';

    return (((bytes - ones * 0x20) & ~bytes) | ((quotes - ones) & ~quotes) |
            ((backslashes - ones) & ~backslashes)) &
           highs;
}

/* Returns the first index from `at` that needs an escape, or the length. */
static size_t find_escaped(const char *bytes, size_t at, size_t length)
{
    uint64_t eight;

    for (; length - at >= sizeof eight; at += sizeof eight) {
        memcpy(&eight, bytes + at, sizeof eight);
        if (has_escaped(eight))
            break;
    }
    for (; at < length; at++) {
        const unsigned char byte = (unsigned char)bytes[at];

        if (byte < 0x20 || byte == '"' || byte == '\\')
            break;
    }
    return at;
}

void json_text_escape(struct buf *buf, const char *bytes, size_t length)
{
    size_t plain = 0;

    for (size_t i = 0; (i = find_escaped(bytes, i, length)) < length; i++) {
        unsigned char byte = (unsigned char)bytes[i];

        buf_append(buf, bytes + plain, i - plain);
        append_escape(buf, byte);
        plain = i + 1;
    }
    if (length > plain)
        buf_append(buf, bytes + plain, length - plain);
}

void json_text_string(struct buf *buf, const char *bytes, size_t length)
{
    buf_append_byte(buf, '"');
    json_text_escape(buf, bytes, length);
    buf_append_byte(buf, '"');
}

void json_text_lines(struct buf *buf, const char *text)
{
    for (char between = '['; between != ']';) {
        const size_t length = strcspn(text, "\n");

        buf_append_byte(buf, between);
        json_text_string(buf, text, length);
        between = text[length] == '\0' ? ']' : ',';
        text += length + 1;
    }
    buf_append_byte(buf, ']');
}

static const char digit_pairs[] = "00010203040506070809"
                                  "10111213141516171819"
                                  "20212223242526272829"
                                  "30313233343536373839"
                                  "40414243444546474849"
                                  "50515253545556575859"
                                  "60616263646566676869"
                                  "70717273747576777879"
                                  "80818283848586878889"
                                  "90919293949596979899";

/* Fills at[0..width) with the last `width` digits, zeros included. */
static void put_short_digits(char *at, uint32_t number, int width)
{
    for (; width >= 2; number /= 100) {
        width -= 2;
        memcpy(at + width, digit_pairs + (size_t)(number % 100) * 2, 2);
    }
    if (width > 0)
        *at = (char)('0' + number % 10);
}

/* Like put_short_digits(), eight digits at a time, because 32-bit divisions are faster. */
static void put_digits(char *at, uint64_t number, int width)
{
    for (; width > 8; number /= 100000000) {
        width -= 8;
        put_short_digits(at + width, (uint32_t)(number % 100000000), 8);
    }
    put_short_digits(at, (uint32_t)number, width);
}

static int digits_of(uint64_t number)
{
    static const uint64_t powers[] = {
        0U,
        10U,
        100U,
        1000U,
        10000U,
        100000U,
        1000000U,
        10000000U,
        100000000U,
        1000000000U,
        10000000000U,
        100000000000U,
        1000000000000U,
        10000000000000U,
        100000000000000U,
        1000000000000000U,
        10000000000000000U,
        100000000000000000U,
        1000000000000000000U,
        10000000000000000000U,
    };
    /* 1233 / 4096 is a little more than log10(2): right, or one too many. */
    int digits = (64 - __builtin_clzll(number | 1)) * 1233 / 4096;

    return number >= powers[digits] ? digits + 1 : digits;
}

char *json_text_put_unsigned(char *at, uint64_t number)
{
    int digits = digits_of(number);

    put_digits(at, number, digits);
    return at + digits;
}

/* Puts the sign; *magnitude is the absolute value (INT64_MIN has no positive int64_t). */
static char *put_sign(char *at, int64_t number, uint64_t *magnitude)
{
    *magnitude = number < 0 ? -(uint64_t)number : (uint64_t)number;
    if (number < 0)
        *at++ = '-';
    return at;
}

char *json_text_put_integer(char *at, int64_t number)
{
    uint64_t magnitude;

    at = put_sign(at, number, &magnitude);
    return json_text_put_unsigned(at, magnitude);
}

/* Puts `number` / `scale` with a point; scale is ten to the power of `places`. */
static inline char *put_decimal(char *at, int64_t number, uint64_t scale, int places)
{
    uint64_t magnitude;

    at = put_sign(at, number, &magnitude);
    at = json_text_put_unsigned(at, magnitude / scale);
    *at++ = '.';
    put_digits(at, magnitude % scale, places);
    return at + places;
}

char *json_text_put_seconds(char *at, int64_t microseconds)
{
    return put_decimal(at, microseconds, 1000000, 6);
}

char *json_text_put_nanoseconds(char *at, int64_t nanoseconds)
{
    return put_decimal(at, nanoseconds, 1000000000, 9);
}

/* Returns the place for the next number; put_end() sets the buffer's length. */
static char *put_begin(struct buf *buf)
{
    return buf_reserve(buf, JSON_TEXT_NUMBER_MAX) == 0 ? buf->data + buf->length : NULL;
}

static void put_end(struct buf *buf, const char *end)
{
    buf->length = (size_t)(end - buf->data);
}

void json_text_seconds(struct buf *buf, int64_t microseconds)
{
    char *at = put_begin(buf);

    if (at != NULL)
        put_end(buf, json_text_put_seconds(at, microseconds));
}

void json_text_nanoseconds(struct buf *buf, int64_t nanoseconds)
{
    char *at = put_begin(buf);

    if (at != NULL)
        put_end(buf, json_text_put_nanoseconds(at, nanoseconds));
}

void json_text_integer(struct buf *buf, int64_t number)
{
    char *at = put_begin(buf);

    if (at != NULL)
        put_end(buf, json_text_put_integer(at, number));
}

void json_text_unsigned(struct buf *buf, uint64_t number)
{
    char *at = put_begin(buf);

    if (at != NULL)
        put_end(buf, json_text_put_unsigned(at, number));
}
