/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json/scan.h"

#include <math.h>
#include <stdlib.h>

#include "base/json/decimal.h"

/* So many digits a double holds exactly. */
enum { EXACT_DIGITS = 15 };

/* Takes a number that is all digits, as most are, without strtod(). */
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
    /* What a number ends at is not ours to know here. */
    char text[64 + SCAN_PADDING] = {0};
    const char *after;

    if (value.at == NULL || value.length == 0 || value.length >= 64)
        return false;
    memcpy(text, value.at, value.length);
    after = decimal_read(text, text + value.length, scale, result);
    return after == text + value.length || decimal_by_double(value, scale, result);
}
