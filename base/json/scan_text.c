/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json/scan.h"

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
