/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/run/run_options.h"

#include <getopt.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "supervisor/option_value.h"
#include "supervisor/process/launcher.h"
#include "supervisor/schedule/scheduler.h"

const char run_options_help[] =
    "usage: gaspipe run [options] --vat NAME=FILE ... DELIVERIES|-\n"
    "\n"
    "Delivers the JSON lines of the file DELIVERIES (or stdin) to contracts, each in its own\n"
    "worker process, and prints what each delivery cost and where its time went.\n"
    "A line: {\"vat\":\"bank\",\"method\":\"transfer\",\"args\":[\"alice\",\"bob\",10]}\n"
    "A run with a store resumes where the previous one stopped.\n"
    "\n"
    "  --vat NAME=FILE           a contract and the name of its vat; FILE is its source, a\n"
    "                            module of WebAssembly, or a bundle made by\n"
    "                            @endo/bundle-source\n"
    "  --bundle NAME=FILE        a bundle, under this name, from which vats can create vats\n"
    "  --counter COUNTERS        qemu: machine instructions; compiled: block cost, by the worker\n"
    "                            that make metered builds; qemu,compiled; none (default: qemu)\n"
    "  --compute-limit N         computrons for each delivery, 0: no limit (default: 100000000)\n"
    "  --max-cost N              units of block cost for each delivery, 0: no limit (default: 0)\n"
    "  --max-instructions N      machine instructions for each delivery, 0: no limit (default: 0)\n"
    "  --max-syscalls N          syscalls in a delivery, 0: no limit (default: 0)\n"
    "  --max-store-bytes SIZE    keys and values in the vat's own store (default: no limit)\n"
    "  --max-message-bytes SIZE  what a vat sends or stores at a time (default: no limit);\n"
    "                            a vat that exceeds one of these limits is terminated, in every\n"
    "                            run; the store keeps them with the vat\n"
    "  --worker PATH             another worker, such as xsnap-worker; without the counter\n"
    "  --sandbox basic|strict|off  confine workers as far as this system can; refuse to run with\n"
    "                            less than full confinement; or not at all (default: basic)\n"
    "  --placement auto|none|same|spread  run workers where it is fastest, where the system\n"
    "                            schedules them, on gaspipe's processor, or on another\n"
    "                            (default: auto)\n"
    "  --delivery-timeout SECS   a worker that takes longer is a host failure, 0: no limit\n"
    "                            (default: 600)\n"
    "  --max-memory SIZE         memory that a worker may write to; refusing it more is a host\n"
    "                            failure (default: no limit)\n"
    "  --max-workers N           worker processes at a time, 0: one for each vat (default: 0);\n"
    "                            the one idle for longest ends first, and its vat is restored\n"
    "                            at its next delivery\n"
    "  --jobs N                  deliveries in progress at a time, to different vats; results\n"
    "                            are those of one job (default: 1; always 1 with both\n"
    "                            --max-workers and --slog)\n"
    "  --retries N               how often to retry a crank after a host failure before the run\n"
    "                            stops (default: 3)\n"
    "  --store DIR               keep the store in this folder (default: in memory)\n"
    "  --slog FILE               append to a slogfile, for slogreport; compressed if FILE ends in\n"
    "                            .zst\n"
    "  --slog-rotate SIZE|blocks:N  continue in FILE.1, FILE.2, ... when a file has SIZE bytes\n"
    "                            (64M) or N blocks\n"
    "  --new-input               begin with a new file of deliveries, even if the store has not\n"
    "                            seen the end of the previous one\n"
    "  --resume                  skip the lines that the store has taken in, even if those were\n"
    "                            all of them; for restarting a run that may have ended\n"
    "  --queue-lines N           queue N lines at a time (default: 1)\n"
    "  --cranks-per-commit N     commit N cranks together (default: 1)\n"
    "  --snapshot-interval N     snapshot a worker every N deliveries, 0: never\n"
    "                            (default: 200; the worker's start counts as one)\n"
    "  --snapshot-initial N      the same for the first snapshot (default: 3)\n"
    "  --reap-interval N         send bringOutYourDead to a vat that runs a bundle every N\n"
    "                            deliveries, 0: never; a store keeps its value (default: 1)\n"
    "  --profile FILE            write what each delivery cost by function and line, JSON lines\n"
    "  --profile-folded FILE     the same as folded stacks, for flame graphs\n"
    "  --json                    print JSON lines\n"
    "  --help                    print this and exit\n"
    "\n"
    "Exit status: 0 success, 1 a delivery failed, 2 usage, 3 bad input, 4 system failure,\n"
    "128+N ended by signal N.\n";

/* The pause before a try doubles each time. */
enum { RETRIES_DEFAULT = 3, RETRIES_MAX = 16 };

enum { RUN_JOBS_MAX = 1024 };

enum {
    OPTION_VAT = 256,
    OPTION_BUNDLE,
    OPTION_NEW_INPUT,
    OPTION_RESUME,
    OPTION_QUEUE_LINES,
    OPTION_BLOCK,
    OPTION_SNAPSHOTS,
    OPTION_FIRST_SNAPSHOT,
    OPTION_REAP,
    OPTION_WORKERS,
    OPTION_JOBS,
    OPTION_COUNTER,
    OPTION_COMPUTE,
    OPTION_INSTRUCTIONS,
    OPTION_MAX_COST,
    OPTION_SYSCALLS,
    OPTION_STORE_BYTES,
    OPTION_MESSAGE_BYTES,
    OPTION_MEMORY,
    OPTION_RETRIES,
    OPTION_WORKER,
    OPTION_PLACEMENT,
    OPTION_TIMEOUT,
    OPTION_STORE,
    OPTION_SLOG,
    OPTION_SLOG_ROTATE,
    OPTION_SANDBOX,
    OPTION_PROFILE,
    OPTION_PROFILE_FOLDED,
    OPTION_JSON,
    OPTION_HELP
};

static const struct option long_options[] = {
    {"vat", required_argument, NULL, OPTION_VAT},
    {"bundle", required_argument, NULL, OPTION_BUNDLE},
    {"new-input", no_argument, NULL, OPTION_NEW_INPUT},
    {"resume", no_argument, NULL, OPTION_RESUME},
    {"queue-lines", required_argument, NULL, OPTION_QUEUE_LINES},
    {"cranks-per-commit", required_argument, NULL, OPTION_BLOCK},
    {"snapshot-interval", required_argument, NULL, OPTION_SNAPSHOTS},
    {"snapshot-initial", required_argument, NULL, OPTION_FIRST_SNAPSHOT},
    {"reap-interval", required_argument, NULL, OPTION_REAP},
    {"max-workers", required_argument, NULL, OPTION_WORKERS},
    {"jobs", required_argument, NULL, OPTION_JOBS},
    {"counter", required_argument, NULL, OPTION_COUNTER},
    {"compute-limit", required_argument, NULL, OPTION_COMPUTE},
    {"max-cost", required_argument, NULL, OPTION_MAX_COST},
    {"max-instructions", required_argument, NULL, OPTION_INSTRUCTIONS},
    {"max-syscalls", required_argument, NULL, OPTION_SYSCALLS},
    {"max-store-bytes", required_argument, NULL, OPTION_STORE_BYTES},
    {"max-message-bytes", required_argument, NULL, OPTION_MESSAGE_BYTES},
    {"max-memory", required_argument, NULL, OPTION_MEMORY},
    {"retries", required_argument, NULL, OPTION_RETRIES},
    {"worker", required_argument, NULL, OPTION_WORKER},
    {"placement", required_argument, NULL, OPTION_PLACEMENT},
    {"delivery-timeout", required_argument, NULL, OPTION_TIMEOUT},
    {"store", required_argument, NULL, OPTION_STORE},
    {"slog", required_argument, NULL, OPTION_SLOG},
    {"slog-rotate", required_argument, NULL, OPTION_SLOG_ROTATE},
    {"sandbox", required_argument, NULL, OPTION_SANDBOX},
    {"profile", required_argument, NULL, OPTION_PROFILE},
    {"profile-folded", required_argument, NULL, OPTION_PROFILE_FOLDED},
    {"json", no_argument, NULL, OPTION_JSON},
    {"help", no_argument, NULL, OPTION_HELP},
    {0},
};

static int take_file(const char *option, char ***list, size_t *count, char *file,
                     struct error *error)
{
    const char *equals = strchr(file, '=');
    char **files;

    if (equals == NULL || equals[1] == '\0')
        return error_set(error, ERROR_USAGE, "%s wants NAME=FILE, not '%s'", option, file);
    files = reallocarray(*list, *count + 1, sizeof *files);
    if (files == NULL)
        return error_memory(error, "the command line");
    *list = files;
    files[(*count)++] = file;
    return 0;
}

static int take_rotation(const char *text, struct slog_rotation *rotation, struct error *error)
{
    static const char blocks[] = "blocks:";

    uint64_t number = 0;

    *rotation = (struct slog_rotation){0};
    if (strncmp(text, blocks, strlen(blocks)) == 0) {
        if (number_option("--slog-rotate blocks:", text + strlen(blocks), 1, INT64_MAX, &number,
                          error) != 0)
            return -1;
        rotation->blocks = (int64_t)number;
        return 0;
    }
    if (number_option_bytes("--slog-rotate", text, &rotation->bytes, error) == 0)
        return 0;
    return error_set(error, ERROR_USAGE,
                     "--slog-rotate wants bytes, such as 500000 or 64M, or blocks:N, not '%s'",
                     text);
}

/* Options that take a number, but for those in option_value.h. */
static const struct number_option {
    int option;
    const char *name;
    uint64_t min, max;
    size_t offset; /* of a uint64_t */
} number_options[] = {
    {OPTION_QUEUE_LINES, "--queue-lines", 1, INT32_MAX, offsetof(struct run_options, queue_lines)},
    {OPTION_BLOCK, "--cranks-per-commit", 1, INT32_MAX,
     offsetof(struct run_options, cranks_per_commit)},
    {OPTION_SNAPSHOTS, "--snapshot-interval", 0, INT32_MAX,
     offsetof(struct run_options, snapshot_interval)},
    {OPTION_FIRST_SNAPSHOT, "--snapshot-initial", 1, INT32_MAX,
     offsetof(struct run_options, snapshot_initial)},
    {OPTION_REAP, "--reap-interval", 0, INT32_MAX, offsetof(struct run_options, reap_interval)},
    {OPTION_WORKERS, "--max-workers", 0, INT32_MAX, offsetof(struct run_options, max_workers)},
    {OPTION_JOBS, "--jobs", 1, RUN_JOBS_MAX, offsetof(struct run_options, jobs)},
    {OPTION_MAX_COST, "--max-cost", 0, INT64_MAX, offsetof(struct run_options, cost_limit)},
    {OPTION_INSTRUCTIONS, "--max-instructions", 0, INT64_MAX,
     offsetof(struct run_options, instruction_limit)},
    {OPTION_SYSCALLS, "--max-syscalls", 0, INT64_MAX, offsetof(struct run_options, syscall_limit)},
    {OPTION_RETRIES, "--retries", 0, RETRIES_MAX, offsetof(struct run_options, retries)},
};

/* Options that take bytes. */
static const struct {
    int option;
    const char *name;
    size_t offset; /* of an int64_t */
} size_options[] = {
    {OPTION_STORE_BYTES, "--max-store-bytes", offsetof(struct run_options, store_limit)},
    {OPTION_MESSAGE_BYTES, "--max-message-bytes", offsetof(struct run_options, message_limit)},
    {OPTION_MEMORY, "--max-memory", offsetof(struct run_options, memory_limit)},
};

/* Whether it is an option of these; *result: what became of it. */
static bool take_number_option(struct run_options *options, int option, int *result,
                               struct error *error)
{
    char *base = (char *)options;

    for (size_t i = 0; i < sizeof number_options / sizeof *number_options; i++) {
        const struct number_option *known = &number_options[i];

        if (known->option != option)
            continue;
        *result = number_option(known->name, optarg, known->min, known->max,
                                (uint64_t *)(base + known->offset), error);
        return true;
    }
    for (size_t i = 0; i < sizeof size_options / sizeof *size_options; i++) {
        if (size_options[i].option != option)
            continue;
        *result = number_option_bytes(size_options[i].name, optarg,
                                      (int64_t *)(base + size_options[i].offset), error);
        return true;
    }
    return false;
}

static int take_run_option(void *context, int option, struct error *error)
{
    struct run_options *options = context;
    int result;

    if (take_number_option(options, option, &result, error))
        return result;
    switch (option) {
    case OPTION_VAT:
        return take_file("--vat", &options->vats, &options->vat_count, optarg, error);
    case OPTION_BUNDLE:
        return take_file("--bundle", &options->bundles, &options->bundle_count, optarg, error);
    case OPTION_NEW_INPUT:
        options->new_input = true;
        return 0;
    case OPTION_RESUME:
        options->resume = true;
        return 0;
    case OPTION_COUNTER:
        options->counter_named = true;
        return option_take_counter(optarg, &options->counters, error);
    case OPTION_COMPUTE:
        options->compute_named = true;
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
    case OPTION_SANDBOX:
        return option_take_sandbox(optarg, &options->sandbox, error);
    case OPTION_PROFILE:
        options->profile = optarg;
        return 0;
    case OPTION_PROFILE_FOLDED:
        options->profile_folded = optarg;
        return 0;
    case OPTION_JSON:
        options->json = true;
        return 0;
    default:
        options->help = true;
        return 0;
    }
}

static int check_combination(struct run_options *options, int argc, char **argv,
                             struct error *error)
{
    if (options->help)
        return 0;
    if (options->vat_count == 0)
        return error_set(error, ERROR_USAGE, "no vat: give at least one --vat NAME=FILE");
    if (argc - optind != 1)
        return error_set(error, ERROR_USAGE, "give one file of deliveries, or - for stdin");
    if (options->new_input && options->resume)
        return error_set(error, ERROR_USAGE, "--new-input and --resume do not go together");
    if (options->worker != NULL && options->counter_named &&
        (options->counters.qemu || options->counters.compiled))
        return error_set(error, ERROR_USAGE, "--worker runs without the counter");
    if (options->worker != NULL)
        options->counters = (struct counters){0};
    if (options->slog == NULL && (options->rotation.bytes > 0 || options->rotation.blocks > 0))
        return error_set(error, ERROR_USAGE, "--slog-rotate wants --slog FILE");
    if (options->cost_limit > 0 && !options->counters.compiled)
        return error_set(error, ERROR_USAGE, "--max-cost wants --counter compiled");
    if (options->instruction_limit > 0 && !options->counters.qemu)
        return error_set(error, ERROR_USAGE, "--max-instructions wants --counter qemu");
    if (options->worker != NULL && (options->profile != NULL || options->profile_folded != NULL))
        return error_set(error, ERROR_USAGE, "--worker takes no --profile: it wants ours");
    options->deliveries = argv[optind];
    return 0;
}

int run_options_parse(struct run_options *options, int argc, char **argv, struct error *error)
{
    *options = (struct run_options){
        .counters = {.qemu = true},
        .compute_limit = LAUNCHER_COMPUTE_LIMIT_DEFAULT,
        .timeout_ms = OPTION_TIMEOUT_MS_DEFAULT,
        .placement = PLACEMENT_AUTO,
        .snapshot_interval = SCHEDULER_SNAPSHOT_INTERVAL,
        .snapshot_initial = SCHEDULER_SNAPSHOT_INITIAL,
        .reap_interval = KERNEL_REAP_INTERVAL,
        .cranks_per_commit = 1,
        .queue_lines = 1,
        .jobs = 1,
        .retries = RETRIES_DEFAULT,
    };
    if (option_take_all(argc, argv, long_options, take_run_option, options, error) != 0)
        return -1;
    return check_combination(options, argc, argv, error);
}

void run_options_free(struct run_options *options)
{
    free(options->vats);
    options->vats = NULL;
    free(options->bundles);
    options->bundles = NULL;
}
