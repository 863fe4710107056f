/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/run_options.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/conductor.h"
#include "supervisor/launcher.h"
#include "supervisor/option_value.h"

const char run_options_help[] =
    "usage: gaspipe run [options] --vat NAME=FILE ... DELIVERIES|-\n"
    "\n"
    "Delivers the JSON lines of the file DELIVERIES (or of stdin) to contracts, each in a\n"
    "worker process of its own, and prints what each delivery cost and where its time went.\n"
    "A line: {\"vat\":\"bank\",\"method\":\"transfer\",\"args\":[\"alice\",\"bob\",10]}\n"
    "With a store that was stopped in the middle of the file it goes on from there.\n"
    "\n"
    "  --vat NAME=FILE           a contract, under the name of its vat: its source, or a bundle\n"
    "                            as @endo/bundle-source makes it\n"
    "  --bundle NAME=FILE        a bundle that vats can make vats of, under this name\n"
    "  --counter qemu|none       count machine instructions under QEMU, or not (default: qemu)\n"
    "  --compute-limit N         computrons for each delivery, 0: no limit (default: 100000000)\n"
    "  --max-instructions N      machine instructions for each delivery, 0: no limit (default: 0)\n"
    "  --worker PATH             another worker, such as xsnap-worker; without the counter\n"
    "  --placement auto|none|same|spread  workers where it is found best, where the system puts\n"
    "                            them, on gaspipe's own processor, or another (default: auto)\n"
    "  --delivery-timeout SECS   end a vat whose delivery takes longer, 0: never (default: 600)\n"
    "  --store DIR               keep the vats' stores there (default: in memory, for this run)\n"
    "  --slog FILE               append a slogfile, for slogreport; compressed if FILE ends in "
    ".zst\n"
    "  --slog-rotate SIZE|blocks:N  go on in FILE.1, FILE.2, ... when a file has SIZE bytes (64M)\n"
    "                            or N blocks\n"
    "  --new-input               begin with a new file of deliveries, even where the store has\n"
    "                            not seen the end of the one before\n"
    "  --queue-lines N           queue so many lines together (default: 1)\n"
    "  --cranks-per-commit N     make so many cranks durable together (default: 1)\n"
    "  --snapshot-interval N     snapshot a worker after so many deliveries, 0: never\n"
    "                            (default: 200; the worker's start counts as one)\n"
    "  --snapshot-initial N      … for the first time after so many (default: 3)\n"
    "  --reap-interval N         send bringOutYourDead to a vat of a bundle after so many\n"
    "                            deliveries, 0: never; a store keeps its number (default: 1)\n"
    "  --json                    print JSON lines\n"
    "  --help                    say this and end\n"
    "\n"
    "Exit status: 0 all well, 1 a delivery failed, 2 usage, 3 bad input, 4 the system failed,\n"
    "128+N ended by signal N.\n";

enum {
    OPTION_VAT = 256,
    OPTION_BUNDLE,
    OPTION_NEW_INPUT,
    OPTION_QUEUE_LINES,
    OPTION_BLOCK,
    OPTION_SNAPSHOTS,
    OPTION_FIRST_SNAPSHOT,
    OPTION_REAP,
    OPTION_COUNTER,
    OPTION_COMPUTE,
    OPTION_INSTRUCTIONS,
    OPTION_WORKER,
    OPTION_PLACEMENT,
    OPTION_TIMEOUT,
    OPTION_STORE,
    OPTION_SLOG,
    OPTION_SLOG_ROTATE,
    OPTION_JSON,
    OPTION_HELP
};

static const struct option long_options[] = {
    {"vat", required_argument, NULL, OPTION_VAT},
    {"bundle", required_argument, NULL, OPTION_BUNDLE},
    {"new-input", no_argument, NULL, OPTION_NEW_INPUT},
    {"queue-lines", required_argument, NULL, OPTION_QUEUE_LINES},
    {"cranks-per-commit", required_argument, NULL, OPTION_BLOCK},
    {"snapshot-interval", required_argument, NULL, OPTION_SNAPSHOTS},
    {"snapshot-initial", required_argument, NULL, OPTION_FIRST_SNAPSHOT},
    {"reap-interval", required_argument, NULL, OPTION_REAP},
    {"counter", required_argument, NULL, OPTION_COUNTER},
    {"compute-limit", required_argument, NULL, OPTION_COMPUTE},
    {"max-instructions", required_argument, NULL, OPTION_INSTRUCTIONS},
    {"worker", required_argument, NULL, OPTION_WORKER},
    {"placement", required_argument, NULL, OPTION_PLACEMENT},
    {"delivery-timeout", required_argument, NULL, OPTION_TIMEOUT},
    {"store", required_argument, NULL, OPTION_STORE},
    {"slog", required_argument, NULL, OPTION_SLOG},
    {"slog-rotate", required_argument, NULL, OPTION_SLOG_ROTATE},
    {"json", no_argument, NULL, OPTION_JSON},
    {"help", no_argument, NULL, OPTION_HELP},
    {0},
};

static int take_file(const char *option, char ***list, size_t *count, char *file,
                     struct error *error)
{
    char **files;

    if (strchr(file, '=') == NULL)
        return error_set(error, ERROR_USAGE, "%s wants NAME=FILE, not '%s'", option, file);
    files = reallocarray(*list, *count + 1, sizeof *files);
    if (files == NULL)
        return error_memory(error, "the command line");
    *list = files;
    files[(*count)++] = file;
    return 0;
}

/* A positive number; behind it may stand one of `units`, each 1024 times the one before. */
static bool parse_count(const char *text, const char *units, int64_t *count)
{
    const char *unit = NULL;
    char *end;

    errno = 0;
    *count = strtoimax(text, &end, 10);
    if (*text < '0' || *text > '9' || errno != 0 || *count == 0)
        return false;
    if (*end != '\0' && (unit = strchr(units, *end++)) == NULL)
        return false;
    for (ptrdiff_t powers = unit == NULL ? 0 : unit - units + 1; powers > 0; powers--)
        if (__builtin_mul_overflow(*count, 1024, count))
            return false;
    return *end == '\0';
}

static int take_rotation(const char *text, struct slog_rotation *rotation, struct error *error)
{
    static const char blocks[] = "blocks:";

    *rotation = (struct slog_rotation){0};
    if (strncmp(text, blocks, strlen(blocks)) == 0
            ? parse_count(text + strlen(blocks), "", &rotation->blocks)
            : parse_count(text, "KMG", &rotation->bytes))
        return 0;
    return error_set(error, ERROR_USAGE,
                     "--slog-rotate wants bytes, such as 500000 or 64M, or blocks:N, not '%s'",
                     text);
}

/* Options that take a number, but for those in option_value.h. */
static int take_number(struct run_options *options, int option, struct error *error)
{
    switch (option) {
    case OPTION_QUEUE_LINES:
        return option_take_number("--queue-lines", optarg, 1, INT32_MAX, &options->queue_lines,
                                  error);
    case OPTION_BLOCK:
        return option_take_number("--cranks-per-commit", optarg, 1, INT32_MAX,
                                  &options->block_cranks, error);
    case OPTION_SNAPSHOTS:
        return option_take_number("--snapshot-interval", optarg, 0, INT32_MAX,
                                  &options->snapshot_interval, error);
    case OPTION_FIRST_SNAPSHOT:
        return option_take_number("--snapshot-initial", optarg, 1, INT32_MAX,
                                  &options->snapshot_initial, error);
    case OPTION_REAP:
        return option_take_number("--reap-interval", optarg, 0, INT32_MAX, &options->reap_interval,
                                  error);
    default:
        return option_take_number("--max-instructions", optarg, 0, INT64_MAX,
                                  &options->instruction_limit, error);
    }
}

static int take_option(void *context, int option, struct error *error)
{
    struct run_options *options = context;

    switch (option) {
    case OPTION_VAT:
        return take_file("--vat", &options->vats, &options->vat_count, optarg, error);
    case OPTION_BUNDLE:
        return take_file("--bundle", &options->bundles, &options->bundle_count, optarg, error);
    case OPTION_NEW_INPUT:
        options->new_input = true;
        return 0;
    case OPTION_QUEUE_LINES:
    case OPTION_BLOCK:
    case OPTION_SNAPSHOTS:
    case OPTION_FIRST_SNAPSHOT:
    case OPTION_REAP:
    case OPTION_INSTRUCTIONS:
        return take_number(options, option, error);
    case OPTION_COUNTER:
        options->counter_named = true;
        return option_take_counter(optarg, &options->counted, error);
    case OPTION_COMPUTE:
        return option_take_compute(optarg, &options->compute_limit, error);
    case OPTION_WORKER:
        options->worker = optarg;
        return 0;
    case OPTION_PLACEMENT:
        return option_take_placement(optarg, &options->placement, error);
    case OPTION_TIMEOUT:
        return option_take_timeout(optarg, &options->timeout_ms, error);
    case OPTION_STORE:
        options->store = optarg;
        return 0;
    case OPTION_SLOG:
        options->slog = optarg;
        return 0;
    case OPTION_SLOG_ROTATE:
        return take_rotation(optarg, &options->rotation, error);
    case OPTION_JSON:
        options->json = true;
        return 0;
    default:
        options->help = true;
        return 0;
    }
}

static int check(struct run_options *options, int argc, char **argv, struct error *error)
{
    if (options->help)
        return 0;
    if (options->vat_count == 0)
        return error_set(error, ERROR_USAGE, "no vat: give at least one --vat NAME=FILE");
    if (argc - optind != 1)
        return error_set(error, ERROR_USAGE, "give one file of deliveries, or - for stdin");
    if (options->worker != NULL && options->counter_named && options->counted)
        return error_set(error, ERROR_USAGE, "--worker runs without the counter");
    options->counted = options->counted && options->worker == NULL;
    if (options->slog == NULL && (options->rotation.bytes > 0 || options->rotation.blocks > 0))
        return error_set(error, ERROR_USAGE, "--slog-rotate wants --slog FILE");
    if (options->instruction_limit > 0 && !options->counted)
        return error_set(error, ERROR_USAGE, "--max-instructions wants --counter qemu");
    options->deliveries = argv[optind];
    return 0;
}

int run_options_parse(struct run_options *options, int argc, char **argv, struct error *error)
{
    *options = (struct run_options){
        .counted = true,
        .compute_limit = LAUNCHER_COMPUTE_LIMIT_DEFAULT,
        .timeout_ms = OPTION_TIMEOUT_MS_DEFAULT,
        .placement = PLACEMENT_AUTO,
        .snapshot_interval = CONDUCTOR_SNAPSHOT_INTERVAL,
        .snapshot_initial = CONDUCTOR_SNAPSHOT_INITIAL,
        .reap_interval = KERNEL_REAP_INTERVAL,
        .block_cranks = 1,
        .queue_lines = 1,
    };
    if (option_take_all(argc, argv, long_options, take_option, options, error) != 0)
        return -1;
    return check(options, argc, argv, error);
}

void run_options_free(struct run_options *options)
{
    free(options->vats);
    options->vats = NULL;
    free(options->bundles);
    options->bundles = NULL;
}
