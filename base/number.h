/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_BASE_NUMBER_H
#define GASPIPE_BASE_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* Decimal numbers as users write them in options and programs in text: digits, no sign or blank. */

/* Parses the digits at *at and advances *at. False without a digit, or for 2^64 and more. */
bool number_take(const char **at, uint64_t *number);

/* Parses the whole text as a number up to `max`. */
bool number_read(const char *text, uint64_t max, uint64_t *number);

/*
 * Values of options. `option` is its name as the user wrote it, for the error:
 * ERROR_USAGE with the range and the text.
 */

/* A number from min to max. */
int number_option(const char *option, const char *text, uint64_t min, uint64_t max,
                  uint64_t *number, struct error *error);

/* Bytes, from 1 to 2^63 - 1; a K, M or G after the number multiplies by 1024, 1024^2, 1024^3. */
int number_option_bytes(const char *option, const char *text, int64_t *bytes, struct error *error);

/* Seconds from 0 to max, with a fraction if wanted; rounded up to milliseconds. */
int number_option_seconds(const char *option, const char *text, uint64_t max,
                          uint64_t *milliseconds, struct error *error);

/* Saturating sums of reported numbers: a meter from a file or a worker may claim anything. */
static inline int64_t saturate_add(int64_t one, int64_t other)
{
    int64_t sum;

    if (__builtin_add_overflow(one, other, &sum))
        return other > 0 ? INT64_MAX : INT64_MIN;
    return sum;
}

static inline int64_t saturate_subtract(int64_t from, int64_t less)
{
    int64_t difference;

    if (__builtin_sub_overflow(from, less, &difference))
        return less > 0 ? INT64_MIN : INT64_MAX;
    return difference;
}

/* The size of `length` bytes as hexadecimal digits with '\0'. */
#define HEX_SIZE(length) (2 * (length) + 1)

/* Writes bytes as lower-case digits and a '\0' to `text` of HEX_SIZE(length). */
void hex_write(char *text, const void *bytes, size_t length);

#endif
