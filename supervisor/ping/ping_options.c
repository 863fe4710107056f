/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/ping/ping_options.h"

#include <stddef.h>
#include <string.h>

#include "base/number.h"
#include "proto/netstring.h"
#include "supervisor/common_options.h"

enum {
    COUNT_MAX = 10000000, /* six measurements of eight bytes each */
    COUNT_SMALL = 10000,
    COUNT_LARGE = 50,
    /* With its length, its command and the meter record it must fit in a frame. */
    SIZE_MAX_OF_MESSAGE = NETSTRING_CAP_UP - 65536,
};

/* Sizes with commas between them, which become ends of strings. */
static int take_ping_sizes(void *place, const char *option, char *value, struct error *error)
{
    struct ping_options *options = place;

    options->size_count = 0;
    for (char *comma = value; comma != NULL; value = comma + 1) {
        comma = strchr(value, ',');
        if (comma != NULL)
            *comma = '\0';
        if (options->size_count == PING_SIZES_MAX)
            return error_set(error, ERROR_USAGE, "%s takes at most %d sizes", option,
                             PING_SIZES_MAX);
        if (number_option(option, value, 0, SIZE_MAX_OF_MESSAGE,
                          &options->sizes[options->size_count++], error) != 0)
            return -1;
    }
    return 0;
}

static const struct option_row rows[] = {
    {"Measurement", .kind = OPTION_HEADING},

    {"size", "BYTES,...", "set message sizes in bytes, per direction, up to 16 (default: 0)",
     .kind = OPTION_OTHER, .take = take_ping_sizes},
    {"count", "N", "measure N round trips per size (default: 10000, fewer for large messages)",
     OPTION_IS_NUMBER(struct ping_options, count, 1, COUNT_MAX)},
    {"load", "N", "run N processes that keep CPUs busy (default: 0)",
     OPTION_IS_NUMBER(struct ping_options, load, 0, PING_LOAD_MAX)},
    {"Worker", .kind = OPTION_HEADING},

    {COMMON_OPTION_COUNTER(struct ping_options, counters, "none")},
    {COMMON_OPTION_MAX_COST(struct ping_options, cost_limit, "0")},
    {COMMON_OPTION_WORKER(struct ping_options, worker)},
    {COMMON_OPTION_SANDBOX(struct ping_options, sandbox)},
    {COMMON_OPTION_PLACEMENT(struct ping_options, placement,
                             "choose the CPUs of both ends: auto (as gaspipe run), none (Linux "
                             "decides), same (one CPU) "
                             "or spread (two) (default: auto)"),
     .given = offsetof(struct ping_options, placement_given)},
    {"Output", .kind = OPTION_HEADING},

    {COMMON_OPTION_JSON(struct ping_options, json)},
};

const struct option_table ping_options_table = {
    .program = "gaspipe",
    .command = "ping",
    .usage =
        "usage: gaspipe ping [options]\n"
        "\n"
        "Measures the pipe to a worker with empty deliveries, and compares it with two processes "
        "that only read and write the same number of bytes.\n",
    .ending = "Exit status: 0 success, 2 usage, 3 bad input, 4 system failure.",
    .rows = rows,
    .row_count = sizeof rows / sizeof *rows,
};

enum option_result ping_options_parse(struct ping_options *options, int argc, char **argv,
                                      struct error *error)
{
    enum option_result result;
    char **operands;

    *options = (struct ping_options){.size_count = 1, .placement = PLACEMENT_AUTO};
    result = option_parse(&ping_options_table, argc, argv, options, &operands, error);
    if (result != OPTION_TAKEN)
        return result;
    if (operands[0] != NULL)
        return error_set(error, ERROR_USAGE, "takes options only, not '%s'", operands[0]);
    if (common_options_check_limits(0, options->cost_limit, options->counters, error) != 0)
        return OPTION_FAILED;
    return common_options_check_worker(options->worker, options->counters, error);
}

size_t ping_options_count(const struct ping_options *options, size_t size)
{
    size_t count = (size_t)COUNT_SMALL * 16384 / (16384 + size);

    if (options->count > 0)
        return options->count;
    return count < COUNT_LARGE ? COUNT_LARGE : count;
}
