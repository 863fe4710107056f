/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/option_value.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

int option_take_number(const char *option, const char *text, uint64_t min, uint64_t max,
                       uint64_t *number, struct error *error)
{
    char *end;

    errno = 0;
    *number = strtoumax(text, &end, 10);
    if (*text >= '0' && *text <= '9' && *end == '\0' && errno == 0 && *number >= min &&
        *number <= max)
        return 0;
    return error_set(error, ERROR_USAGE,
                     "%s wants a number from %" PRIu64 " to %" PRIu64 ", not '%s'", option, min,
                     max, text);
}

int option_take_counter(const char *word, bool *counted, struct error *error)
{
    *counted = strcmp(word, "qemu") == 0;
    if (*counted || strcmp(word, "none") == 0)
        return 0;
    return error_set(error, ERROR_USAGE, "--counter is qemu or none, not '%s'", word);
}

int option_complain(int complaint, const char *option, struct error *error)
{
    if (complaint == ':')
        return error_set(error, ERROR_USAGE, "%s wants a value", option);
    return error_set(error, ERROR_USAGE, "unknown option %s", option);
}
