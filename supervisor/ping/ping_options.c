/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/ping/ping_options.h"

#include <getopt.h>
#include <string.h>

#include "base/number.h"
#include "proto/netstring.h"
#include "supervisor/option_value.h"
#include "supervisor/ping/ping_load.h"

enum {
    COUNT_MAX = 10000000, /* six measurements of eight bytes each */
    COUNT_SMALL = 10000,
    COUNT_LARGE = 50,
    /* With its length, its command and the meter record it must fit in a frame. */
    SIZE_MAX_OF_MESSAGE = NETSTRING_CAP_DEFAULT - 65536,
};

const char ping_options_help[] =
    "usage: gaspipe ping [options]\n"
    "\n"
    "Measures the pipe to a worker with empty deliveries, one after the other, beside two\n"
    "processes that only read and write the same number of bytes.\n"
    "\n"
    "  --size BYTES,...              of the message, in each direction (default: 0)\n"
    "  --count N                     round trips of each size (default: 10000, fewer of large)\n"
    "  --placement auto|none|same|spread  run both ends where it is fastest, where the system\n"
    "                                schedules them, on one processor, or on two (default: auto)\n"
    "  --load N                      run N processes that compute all the time (default: 0)\n"
    "  --sandbox basic|strict|off  confine workers as far as this system can; refuse to run with\n"
    "                            less than full confinement; or not at all (default: basic)\n"
    "  --counter COUNTERS            qemu, compiled, both with a comma, or none (default: none)\n"
    "  --max-cost N                  units of block cost for each delivery (default: no limit)\n"
    "  --worker PATH                 another worker, such as xsnap-worker\n"
    "  --json                        print JSON lines\n"
    "  --help                        print this and exit\n"
    "\n"
    "Exit status: 0 success, 2 usage, 3 bad input, 4 system failure.\n";

enum {
    OPTION_SIZE = 256,
    OPTION_COUNT,
    OPTION_PLACEMENT,
    OPTION_LOAD,
    OPTION_COUNTER,
    OPTION_MAX_COST,
    OPTION_WORKER,
    OPTION_SANDBOX,
    OPTION_JSON,
    OPTION_HELP
};

static const struct option long_options[] = {
    {"size", required_argument, NULL, OPTION_SIZE},
    {"count", required_argument, NULL, OPTION_COUNT},
    {"placement", required_argument, NULL, OPTION_PLACEMENT},
    {"load", required_argument, NULL, OPTION_LOAD},
    {"counter", required_argument, NULL, OPTION_COUNTER},
    {"max-cost", required_argument, NULL, OPTION_MAX_COST},
    {"worker", required_argument, NULL, OPTION_WORKER},
    {"sandbox", required_argument, NULL, OPTION_SANDBOX},
    {"json", no_argument, NULL, OPTION_JSON},
    {"help", no_argument, NULL, OPTION_HELP},
    {0},
};

static int take_size(const char *text, size_t *size, struct error *error)
{
    uint64_t number;

    if (number_option("--size", text, 0, SIZE_MAX_OF_MESSAGE, &number, error) != 0)
        return -1;
    *size = number;
    return 0;
}

/* Sizes with commas between them, which become ends of strings. */
static int take_sizes(struct ping_options *options, char *text, struct error *error)
{
    options->size_count = 0;
    for (char *comma = text; comma != NULL; text = comma + 1) {
        comma = strchr(text, ',');
        if (comma != NULL)
            *comma = '\0';
        if (options->size_count == PING_SIZES_MAX)
            return error_set(error, ERROR_USAGE, "--size takes at most %d sizes", PING_SIZES_MAX);
        if (take_size(text, &options->sizes[options->size_count++], error) != 0)
            return -1;
    }
    return 0;
}

static int take_count(struct ping_options *options, const char *text, struct error *error)
{
    uint64_t number;

    if (number_option("--count", text, 1, COUNT_MAX, &number, error) != 0)
        return -1;
    options->count = number;
    return 0;
}

static int take_load(struct ping_options *options, const char *text, struct error *error)
{
    uint64_t number;

    if (number_option("--load", text, 0, PING_LOAD_MAX, &number, error) != 0)
        return -1;
    options->load = number;
    return 0;
}

static int take_option(void *context, int option, struct error *error)
{
    struct ping_options *options = context;

    switch (option) {
    case OPTION_SIZE:
        return take_sizes(options, optarg, error);
    case OPTION_COUNT:
        return take_count(options, optarg, error);
    case OPTION_PLACEMENT:
        return option_take_placement(optarg, &options->placement, error);
    case OPTION_LOAD:
        return take_load(options, optarg, error);
    case OPTION_COUNTER:
        return option_take_counter(optarg, &options->counters, error);
    case OPTION_MAX_COST:
        return number_option("--max-cost", optarg, 0, INT64_MAX, &options->cost_limit, error);
    case OPTION_WORKER:
        options->worker = optarg;
        return 0;
    case OPTION_SANDBOX:
        return option_take_sandbox(optarg, &options->sandbox, error);
    case OPTION_JSON:
        options->json = true;
        return 0;
    default:
        options->help = true;
        return 0;
    }
}

int ping_options_parse(struct ping_options *options, int argc, char **argv, struct error *error)
{
    *options = (struct ping_options){.size_count = 1, .placement = PLACEMENT_AUTO};
    if (option_take_all(argc, argv, long_options, take_option, options, error) != 0)
        return -1;
    if (options->help)
        return 0;
    if (optind != argc)
        return error_set(error, ERROR_USAGE, "takes options only, not '%s'", argv[optind]);
    if (options->worker != NULL && (options->counters.qemu || options->counters.compiled))
        return error_set(error, ERROR_USAGE, "--worker runs without the counter");
    if (options->cost_limit > 0 && !options->counters.compiled)
        return error_set(error, ERROR_USAGE, "--max-cost wants --counter compiled");
    return 0;
}

size_t ping_options_count(const struct ping_options *options, size_t size)
{
    size_t count = (size_t)COUNT_SMALL * 16384 / (16384 + size);

    if (options->count > 0)
        return options->count;
    return count < COUNT_LARGE ? COUNT_LARGE : count;
}
