/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/option_value.h"

#include <string.h>

#include "base/number.h"

enum { TIMEOUT_SECONDS_MAX = 1000000 };

int option_take_counter(const char *words, struct counters *counters, struct error *error)
{
    static const struct {
        const char *words;
        struct counters counters;
    } choices[] = {
        {"none", {.qemu = false}},
        {"qemu", {.qemu = true}},
        {"compiled", {.compiled = true}},
        {"qemu,compiled", {.qemu = true, .compiled = true}},
        {"compiled,qemu", {.qemu = true, .compiled = true}},
    };

    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++) {
        if (strcmp(words, choices[i].words) == 0) {
            *counters = choices[i].counters;
            return 0;
        }
    }
    return error_set(error, ERROR_USAGE,
                     "--counter is qemu, compiled, qemu,compiled or none, not '%s'", words);
}

int option_take_sandbox(const char *word, enum confinement_level *level, struct error *error)
{
    static const char *const levels[] = {
        [CONFINEMENT_BASIC] = "basic",
        [CONFINEMENT_STRICT] = "strict",
        [CONFINEMENT_OFF] = "off",
    };

    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
        if (strcmp(word, levels[i]) == 0) {
            *level = (enum confinement_level)i;
            return 0;
        }
    }
    return error_set(error, ERROR_USAGE, "--sandbox is basic, strict or off, not '%s'", word);
}

int option_take_compute(const char *text, uint32_t *limit, struct error *error)
{
    uint64_t number;

    if (number_option("--compute-limit", text, 0, INT32_MAX, &number, error) != 0)
        return -1;
    *limit = (uint32_t)number;
    return 0;
}

int option_take_timeout(const char *text, uint64_t *timeout_ms, struct error *error)
{
    return number_option_seconds("--delivery-timeout", text, TIMEOUT_SECONDS_MAX, timeout_ms,
                                 error);
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
