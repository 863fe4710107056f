/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json_text.h"

enum { DIGITS_OF_64_BITS = 20 };

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

void json_text_string(struct buf *buf, const char *bytes, size_t length)
{
    size_t plain = 0;

    buf_append_byte(buf, '"');
    for (size_t i = 0; i < length; i++) {
        unsigned char byte = (unsigned char)bytes[i];

        if (byte >= 0x20 && byte != '"' && byte != '\\')
            continue;
        buf_append(buf, bytes + plain, i - plain);
        append_escape(buf, byte);
        plain = i + 1;
    }
    if (length > plain)
        buf_append(buf, bytes + plain, length - plain);
    buf_append_byte(buf, '"');
}

/* At least `width` digits, with zeros in front. */
static void append_digits(struct buf *buf, uint64_t number, int width)
{
    char digits[DIGITS_OF_64_BITS];
    int at = DIGITS_OF_64_BITS;

    do {
        digits[--at] = (char)('0' + number % 10);
        number /= 10;
        width--;
    } while (number > 0 || width > 0);
    buf_append(buf, digits + at, (size_t)(DIGITS_OF_64_BITS - at));
}

/* The sign, and the number without it (INT64_MIN has no positive int64_t). */
static uint64_t append_sign(struct buf *buf, int64_t number)
{
    if (number >= 0)
        return (uint64_t)number;
    buf_append_byte(buf, '-');
    return -(uint64_t)number;
}

void json_text_seconds(struct buf *buf, int64_t microseconds)
{
    uint64_t magnitude = append_sign(buf, microseconds);

    append_digits(buf, magnitude / 1000000, 1);
    buf_append_byte(buf, '.');
    append_digits(buf, magnitude % 1000000, 6);
}

void json_text_nanoseconds(struct buf *buf, int64_t nanoseconds)
{
    uint64_t magnitude = append_sign(buf, nanoseconds);

    append_digits(buf, magnitude / 1000000000, 1);
    buf_append_byte(buf, '.');
    append_digits(buf, magnitude % 1000000000, 9);
}

void json_text_integer(struct buf *buf, int64_t number)
{
    append_digits(buf, append_sign(buf, number), 1);
}

void json_text_unsigned(struct buf *buf, uint64_t number)
{
    append_digits(buf, number, 1);
}
