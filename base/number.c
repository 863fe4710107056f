/* SPDX-License-Identifier: Apache-2.0 */
#include "base/number.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

bool number_take(const char **at, uint64_t *number)
{
    const char *start = *at;

    for (*number = 0; **at >= '0' && **at <= '9'; (*at)++) {
        if (__builtin_mul_overflow(*number, 10, number) ||
            __builtin_add_overflow(*number, (unsigned)(**at - '0'), number))
            return false;
    }
    return *at > start;
}

bool number_read(const char *text, uint64_t max, uint64_t *number)
{
    return number_take(&text, number) && *text == '\0' && *number <= max;
}

int number_option(const char *option, const char *text, uint64_t min, uint64_t max,
                  uint64_t *number, struct error *error)
{
    if (number_read(text, max, number) && *number >= min)
        return 0;
    return error_set(error, ERROR_USAGE,
                     "%s needs a number from %" PRIu64 " to %" PRIu64 ", not '%s'", option, min,
                     max, text);
}

static bool parse_byte_count(const char *text, int64_t *bytes)
{
    static const char units[] = "KMG";
    const char *unit = NULL;
    uint64_t number;

    if (!number_take(&text, &number) || number == 0 || number > INT64_MAX)
        return false;
    *bytes = (int64_t)number;
    if (*text != '\0' && (unit = strchr(units, *text++)) == NULL)
        return false;
    for (ptrdiff_t powers = unit == NULL ? 0 : unit - units + 1; powers > 0; powers--)
        if (__builtin_mul_overflow(*bytes, 1024, bytes))
            return false;
    return *text == '\0';
}

int number_option_bytes(const char *option, const char *text, int64_t *bytes, struct error *error)
{
    if (parse_byte_count(text, bytes))
        return 0;
    return error_set(error, ERROR_USAGE, "%s needs bytes, such as 500000 or 64M, not '%s'", option,
                     text);
}

int number_option_seconds(const char *option, const char *text, uint64_t max,
                          uint64_t *milliseconds, struct error *error)
{
    char *end;
    double seconds = strtod(text, &end);

    if (end == text || *end != '\0' || !(seconds >= 0) || seconds > (double)max)
        return error_set(error, ERROR_USAGE, "%s needs seconds from 0 to %" PRIu64 ", not '%s'",
                         option, max, text);
    *milliseconds = (uint64_t)ceil(seconds * 1000);
    return 0;
}

void hex_write(char *text, const void *bytes, size_t length)
{
    static const char digits[] = "0123456789abcdef";
    const unsigned char *byte = bytes;

    for (size_t i = 0; i < length; i++) {
        text[2 * i] = digits[byte[i] >> 4];
        text[2 * i + 1] = digits[byte[i] & 15];
    }
    text[2 * length] = '\0';
}
