/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/option_value.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TIMEOUT_SECONDS_MAX 1e6

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

int option_take_compute(const char *text, uint32_t *limit, struct error *error)
{
    uint64_t number;

    if (option_take_number("--compute-limit", text, 0, INT32_MAX, &number, error) != 0)
        return -1;
    *limit = (uint32_t)number;
    return 0;
}

int option_take_timeout(const char *text, uint64_t *timeout_ms, struct error *error)
{
    char *end;
    double seconds = strtod(text, &end);

    if (end == text || *end != '\0' || !(seconds >= 0) || seconds > TIMEOUT_SECONDS_MAX)
        return error_set(error, ERROR_USAGE,
                         "--delivery-timeout wants seconds from 0 to %.0f, not '%s'",
                         TIMEOUT_SECONDS_MAX, text);
    *timeout_ms = (uint64_t)ceil(seconds * 1000);
    return 0;
}

int option_take_placement(const char *word, enum placement_kind *kind, struct error *error)
{
    if (placement_parse(word, kind) == 0)
        return 0;
    return error_set(error, ERROR_USAGE, "--placement is auto, none, same or spread, not '%s'",
                     word);
}

/* For getopt_long()'s ':' and '?', with opterr 0 and ':' first among the short options. */
static int complain(int complaint, const char *option, struct error *error)
{
    if (complaint == ':')
        return error_set(error, ERROR_USAGE, "%s wants a value", option);
    return error_set(error, ERROR_USAGE, "unknown option %s", option);
}

int option_take_all(int argc, char **argv, const struct option *known,
                    int (*take)(void *options, int option, struct error *error), void *options,
                    struct error *error)
{
    int option;

    opterr = 0;
    while ((option = getopt_long(argc, argv, ":", known, NULL)) != -1) {
        if (option == ':' || option == '?')
            return complain(option, argv[optind - 1], error);
        if (take(options, option, error) != 0)
            return -1;
    }
    return 0;
}
