/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include <strings.h>

#include "worker/near/message.h"

/* Amounts of money and gas in messages. */

/* Units, and how many zeros each stands for. */
struct near_unit {
    const char *name;
    unsigned zeros;
};

static const struct near_unit money[] = {{"NEAR", 24}, {"mNEAR", 21}, {"yoctoNEAR", 0}, {NULL, 0}};
static const struct near_unit gas[] = {{"Tgas", 12}, {"Ggas", 9}, {"gas", 0}, {NULL, 0}};

enum { DIGITS_MOST = 38 }; /* of a number below 2^127 */

/* Reads "12", or "1.5 UNIT" with at most as many decimals as the unit has zeros. */
static bool read_text(const char *text, const struct near_unit *units, unsigned __int128 *amount)
{
    const size_t whole = strspn(text, "0123456789");
    const size_t part = text[whole] == '.' ? strspn(text + whole + 1, "0123456789") : 0;
    const char *unit = text + whole + (text[whole] == '.') + part;
    unsigned zeros = 0, decimals = 0;

    unit += strspn(unit, " ");
    if (*unit != '\0') {
        while (units->name != NULL && strcasecmp(units->name, unit) != 0)
            units++;
        if (units->name == NULL)
            return false;
        zeros = units->zeros;
    }
    if (whole == 0 || (text[whole] == '.' && part == 0) || part > zeros ||
        whole + zeros > DIGITS_MOST)
        return false;
    *amount = 0;
    for (size_t i = 0; i < whole; i++)
        *amount = *amount * 10 + (unsigned)(text[i] - '0');
    for (; decimals < zeros; decimals++)
        *amount =
            *amount * 10 + (decimals < part ? (unsigned)(text[whole + 1 + decimals] - '0') : 0);
    return true;
}

static bool read_quantity(const json_t *value, const struct near_unit *units,
                          unsigned __int128 *amount)
{
    if (json_is_string(value))
        return read_text(json_string_value(value), units, amount);
    *amount = (unsigned __int128)json_integer_value(value);
    return json_is_integer(value) && json_integer_value(value) >= 0;
}

bool near_money_read(const json_t *value, unsigned __int128 *amount)
{
    return read_quantity(value, money, amount);
}

bool near_gas_read(const json_t *value, uint64_t *number)
{
    unsigned __int128 amount;

    if (!read_quantity(value, gas, &amount) || amount > UINT64_MAX)
        return false;
    *number = (uint64_t)amount;
    return true;
}
