/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_BASE_JSON_DECIMAL_H
#define GASPIPE_BASE_JSON_DECIMAL_H

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Reads decimal numbers eight digits at a time. Inline, so that a constant scale costs no
 * division. */

enum {
    DECIMAL_STEP = 8,
    /* Digits that fit an int64_t, including `scale` zeros. */
    DECIMAL_MOST_DIGITS = 18,
    /* Digits after the point that are read. */
    DECIMAL_FRACTION = 2 * DECIMAL_STEP,
};

#define DECIMAL_INLINE static inline __attribute__((always_inline))

static const int64_t decimal_powers[] = {
    1,
    10,
    100,
    1000,
    10000,
    100000,
    1000000,
    10000000,
    100000000,
    1000000000,
    10000000000,
    100000000000,
    1000000000000,
    10000000000000,
    100000000000000,
    1000000000000000,
    10000000000000000,
};

/* Loads the 8 bytes at `at`, each minus the character '0'. *count is the number of digits before
 * another character. The sum sets the top bit of a byte above 9. */
static inline uint64_t decimal_load(const char *at, unsigned *count)
{
    uint64_t digits, others;

    memcpy(&digits, at, sizeof digits);
    digits = le64toh(digits) ^ 0x3030303030303030;
    others = ((digits + 0x7676767676767676) | digits) & 0x8080808080808080;
    *count = others == 0 ? DECIMAL_STEP : (unsigned)__builtin_ctzll(others) / 8;
    return digits;
}

/* Returns the number of 8 digits, the first one in the lowest byte. It joins neighbours: 4 numbers
 * of two digits, then 2 of four, then 1 of eight. */
static inline int64_t decimal_join(uint64_t digits)
{
    digits = digits * 10 + (digits >> 8);
    return (int64_t)(((digits & 0x000000ff000000ff) * 0x000f424000000064 +
                      (digits >> 16 & 0x000000ff000000ff) * 0x0000271000000001) >>
                     32);
}

/* Reads the digits before the point or the end, at *at. Returns how many; 0 also if there are too
 * many. */
static inline unsigned decimal_whole(const char **at, int64_t *number)
{
    unsigned count, total;
    uint64_t digits = decimal_load(*at, &count);

    *at += count;
    if (count < DECIMAL_STEP) {
        *number = count == 0 ? 0 : decimal_join(digits << (64 - 8 * count));
        return count;
    }
    *number = decimal_join(digits);
    digits = decimal_load(*at, &count);
    *at += count;
    total = DECIMAL_STEP + count;
    if (count == DECIMAL_STEP)
        return 0;
    if (count > 0)
        *number = *number * decimal_powers[count] + decimal_join(digits << (64 - 8 * count));
    return total;
}

/* Reads the digits after the point, in units of 10^-DECIMAL_FRACTION; drops further ones. */
static inline int64_t decimal_fraction(const char **at, const char *end)
{
    unsigned count;
    uint64_t digits = decimal_load(*at, &count);
    int64_t number;

    *at += count;
    if (count < DECIMAL_STEP)
        return decimal_join(digits & (((uint64_t)1 << 8 * count) - 1)) * 100000000;
    number = decimal_join(digits) * 100000000;
    digits = decimal_load(*at, &count);
    *at += count;
    if (count < DECIMAL_STEP)
        return number + decimal_join(digits & (((uint64_t)1 << 8 * count) - 1));
    while (*at < end && **at >= '0' && **at <= '9')
        ++*at;
    return number + decimal_join(digits);
}

/* Reads a number without exponent at `at` < `end`, times 10^scale (0 to 9), rounded to the nearest
 * integer. 64 bytes after `end` must be readable; they are not part of the number. Returns the end
 * of the number, whatever follows; NULL if it is not such a number or has too many digits. */
DECIMAL_INLINE const char *decimal_read(const char *at, const char *end, int scale, int64_t *result)
{
    int64_t unit = decimal_powers[DECIMAL_FRACTION - scale], number;
    bool negative = *at == '-';
    unsigned total;

    at += negative;
    total = decimal_whole(&at, &number);
    if (total == 0 || total > (unsigned)(DECIMAL_MOST_DIGITS - scale))
        return NULL;
    number *= decimal_powers[scale];
    if (__builtin_expect(*at == '.', scale > 0)) {
        at++;
        number += (decimal_fraction(&at, end) + unit / 2) / unit;
    }
    *result = negative ? -number : number;
    return at <= end ? at : NULL;
}

#endif
