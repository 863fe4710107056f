/* SPDX-License-Identifier: Apache-2.0 */
#include "base/text/format.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* The digits of 2^64 - 1. */
enum { DIGITS_MAX = 20 };

/* The target of the text up to `end`; `missing` counts bytes that do not fit. */
struct formatted {
    char *at, *end;
    size_t missing;
};

static void format_put_bytes(struct formatted *text, const char *bytes, size_t length)
{
    const size_t space = (size_t)(text->end - text->at);

    if (length > space) {
        text->missing += length - space;
        length = space;
    }
    if (length == 0)
        return; /* `at` may be NULL */
    memcpy(text->at, bytes, length);
    text->at += length;
}

/* Puts the text up to the next '%' or the end: a few bytes, for which a loop is cheaper than a
 * call. */
static const char *put_literal(struct formatted *text, const char *format)
{
    char *at = text->at;
    char *const end = text->end;

    for (; *format != '%' && *format != '\0'; format++) {
        if (at < end)
            *at++ = *format;
        else
            text->missing++;
    }
    text->at = at;
    return format;
}

static void format_put_number(struct formatted *text, uint64_t number, bool negative)
{
    char digits[DIGITS_MAX + 1], *first = digits + sizeof digits;

    do {
        *--first = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    if (negative)
        *--first = '-';
    format_put_bytes(text, first, (size_t)(digits + sizeof digits - first));
}

static void put_signed(struct formatted *text, int64_t number)
{
    format_put_number(text, number < 0 ? -(uint64_t)number : (uint64_t)number, number < 0);
}

/* Puts a string for %s, or %.*s with a limit, which reads nothing past the limit. */
static void format_put_string(struct formatted *text, const char *string, int limit)
{
    if (limit == 0)
        return; /* such a string may be NULL */
    format_put_bytes(text, string, limit < 0 ? strlen(string) : strnlen(string, (size_t)limit));
}

/* Puts the conversion after its '%'. Returns its end; NULL if it is not supported. */
static const char *put_conversion(struct formatted *text, const char *format, va_list *arguments)
{
    int limit = -1;
    char character;

    switch (*format) {
    case '.':
        if (format[1] != '*' || format[2] != 's')
            return NULL;
        format += 2;
        limit = va_arg(*arguments, int);
        /* fall through */
    case 's':
        format_put_string(text, va_arg(*arguments, const char *), limit);
        return format + 1;
    case 'c':
        character = (char)va_arg(*arguments, int);
        format_put_bytes(text, &character, 1);
        return format + 1;
    case 'd':
        put_signed(text, va_arg(*arguments, int));
        return format + 1;
    case 'u':
        format_put_number(text, va_arg(*arguments, unsigned), false);
        return format + 1;
    case '%':
        format_put_bytes(text, format, 1);
        return format + 1;
    default:
        return NULL;
    }
}

/* For l, ll and z, which are all 64 bits. */
static const char *put_long(struct formatted *text, const char *format, va_list *arguments)
{
    _Static_assert(sizeof(long) == sizeof(int64_t) && sizeof(long long) == sizeof(int64_t) &&
                       sizeof(size_t) == sizeof(int64_t),
                   "these take their arguments alike");
    format += format[0] == 'l' && format[1] == 'l' ? 2 : 1;
    if (*format == 'd')
        put_signed(text, va_arg(*arguments, int64_t));
    else if (*format == 'u')
        format_put_number(text, va_arg(*arguments, uint64_t), false);
    else
        return NULL;
    return format + 1;
}

/* Returns true if all conversions are supported here. */
static bool format_put_all(struct formatted *text, const char *format, va_list *arguments)
{
    for (;;) {
        format = put_literal(text, format);
        if (*format == '\0')
            return true;
        format = format[1] == 'l' || format[1] == 'z' ? put_long(text, format + 1, arguments)
                                                      : put_conversion(text, format + 1, arguments);
        if (format == NULL)
            return false;
    }
}

int format_arguments(char *at, size_t size, const char *format, va_list arguments)
{
    struct formatted text = {.at = at, .end = size > 0 ? at + size - 1 : at};
    va_list copy;
    size_t length;
    bool done;

    va_copy(copy, arguments);
    done = format_put_all(&text, format, &copy);
    va_end(copy);
    length = (size_t)(text.at - at) + text.missing;
    if (!done || length > INT32_MAX)
        return vsnprintf(at, size, format, arguments);
    if (size > 0)
        *text.at = '\0';
    return (int)length;
}

int format_text(char *at, size_t size, const char *format, ...)
{
    va_list arguments;
    int length;

    va_start(arguments, format);
    length = format_arguments(at, size, format, arguments);
    va_end(arguments);
    return length;
}
