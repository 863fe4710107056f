/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/run/run_options.h"

#include <string.h>

#include "base/number.h"
#include "base/option/option_file.h"
#include "supervisor/common_options.h"
#include "supervisor/nats.h"
#include "supervisor/process/launcher.h"
#include "supervisor/schedule/scheduler.h"

/* The pause before a try doubles each time. */
enum { RETRIES_DEFAULT = 3, RETRIES_MAX = 16 };

enum { RUN_JOBS_MAX = 1024, SUBJECT_MAX = 512 };

static int take_rotation(void *place, const char *option, char *value, struct error *error)
{
    static const char blocks[] = "blocks:";

    struct slog_rotation *rotation = place;
    uint64_t number = 0;

    *rotation = (struct slog_rotation){0};
    if (strncmp(value, blocks, strlen(blocks)) == 0) {
        if (number_option("--slog-rotate blocks:", value + strlen(blocks), 1, INT64_MAX, &number,
                          error) != 0)
            return -1;
        rotation->blocks = (int64_t)number;
        return 0;
    }
    if (number_option_bytes(option, value, &rotation->bytes, error) == 0)
        return 0;
    return error_set(error, ERROR_USAGE,
                     "%s needs bytes, such as 500000 or 64M, or blocks:N, not '%s'", option, value);
}

static int take_transfer(void *place, const char *option, char *value, struct error *error)
{
    int64_t *bytes = place;

    if (number_option_bytes(option, value, bytes, error) != 0)
        return -1;
    return *bytes <= KERNEL_TRANSFER_MAX
               ? 0
               : error_set(error, ERROR_USAGE, "%s is at most 512M, not '%s'", option, value);
}

/* NAME=FILE */
static int take_file(void *place, const char *option, char *value, struct error *error)
{
    const char *equals = strchr(value, '=');

    if (equals == NULL || equals[1] == '\0')
        return error_set(error, ERROR_USAGE, "%s needs NAME=FILE, not '%s'", option, value);
    return option_list_add(place, value, error);
}

#define RUN_NUMBER(member, min, max) OPTION_IS_NUMBER(struct run_options, member, min, max)

static const struct option_row rows[] = {
    {"vat", "NAME=FILE",
     "a contract and the name of its vat; FILE is its source, a module of WebAssembly, or a bundle "
     "made by @endo/bundle-source",
     OPTION_IS_OTHER(struct run_options, vats, take_file)},
    {"new-vat", "NAME=FILE",
     "the same for a vat that a store with other vats does not have yet; once it has it, the "
     "option "
     "changes nothing",
     OPTION_IS_OTHER(struct run_options, new_vats, take_file)},
    {"upgrade", "NAME=FILE",
     "another contract for a vat of the store: its next incarnation starts with it and keeps the "
     "vat's store",
     OPTION_IS_OTHER(struct run_options, upgrades, take_file)},
    {"config", "FILE",
     "read options from a JSON object, {\"vat\":{\"NAME\":\"FILE\"},\"max-syscalls\":1000}; those "
     "of the command line come after them",
     OPTION_IS_TEXT(struct run_options, config)},
    {"bundle", "NAME=FILE", "a bundle, under this name, from which vats can create vats",
     OPTION_IS_OTHER(struct run_options, bundles, take_file)},
    {COMMON_OPTION_COUNTER(struct run_options, counters, "qemu"),
     .given = offsetof(struct run_options, counter_given)},
    {COMMON_OPTION_COMPUTE_LIMIT(struct run_options, compute_limit),
     .given = offsetof(struct run_options, compute_given)},
    {COMMON_OPTION_MAX_INSTRUCTIONS(struct run_options, instruction_limit,
                                    "50000000000 with --counter qemu"),
     .given = offsetof(struct run_options, instructions_given)},
    {COMMON_OPTION_MAX_COST(struct run_options, cost_limit, COMMON_OPTIONS_METERED_COST_TEXT),
     .given = offsetof(struct run_options, cost_given)},
    {"max-heap", "SIZE",
     "the engine's heap, at most 2G (default: half of --max-memory, or the engine's 2G)",
     OPTION_IS_BYTES(struct run_options, heap_limit)},
    {"max-syscalls", "N", "syscalls in a delivery, 0: no limit (default: 0)",
     RUN_NUMBER(syscall_limit, 0, INT64_MAX)},
    {"max-store-bytes", "SIZE", "keys and values in the vat's own store (default: no limit)",
     OPTION_IS_BYTES(struct run_options, store_limit)},
    {"max-message-bytes", "SIZE", "what a vat sends or stores at a time (default: no limit)",
     OPTION_IS_BYTES(struct run_options, message_limit)},
    {"max-transfer-bytes", "SIZE",
     "what a delivery reads and writes through syscalls, as JSON, at most 512M (default: 64M); a "
     "vat that exceeds one of these limits is terminated, in every run; the store keeps them with "
     "the vat",
     OPTION_IS_OTHER(struct run_options, transfer_limit, take_transfer),
     .given = offsetof(struct run_options, transfer_given)},
    {"near-protocol", "N",
     "NEAR's protocol version whose costs and limits new contracts in WebAssembly have, 62 to 84 "
     "(default: 84)",
     RUN_NUMBER(near_protocol, RUN_NEAR_FIRST, RUN_NEAR_NEWEST)},
    {COMMON_OPTION_WORKER(struct run_options, worker)},
    {COMMON_OPTION_SANDBOX(struct run_options, sandbox)},
    {COMMON_OPTION_PLACEMENT(
        struct run_options, placement,
        "run workers where it is fastest, where the system schedules them, on gaspipe's "
        "processor, or on another (default: auto)")},
    {COMMON_OPTION_DELIVERY_TIMEOUT(
         struct run_options, timeout_ms,
         "a worker that takes longer is a host failure, 0: no limit (default: 600; with --counter "
         "none, 60)"),
     .given = offsetof(struct run_options, timeout_given)},
    {"max-memory", "SIZE",
     "memory that a worker may write to; refusing it more is a host failure (default: no limit)",
     OPTION_IS_BYTES(struct run_options, memory_limit)},
    {"max-workers", "N",
     "worker processes at a time, 0: one for each vat (default: 0); the one idle for longest ends "
     "first, and its vat is restored at its next delivery",
     RUN_NUMBER(max_workers, 0, INT32_MAX)},
    {"jobs", "N",
     "deliveries in progress at a time, to different vats; results are those of one job "
     "(default: 1; always 1 with both --max-workers and --slog)",
     RUN_NUMBER(jobs, 1, RUN_JOBS_MAX)},
    {"retries", "N",
     "how often to retry a crank after a host failure before the run stops (default: 3)",
     RUN_NUMBER(retries, 0, RETRIES_MAX)},
    {"store", "DIR", "keep the store in this folder (default: in memory)",
     OPTION_IS_TEXT(struct run_options, store)},
    {"from", "URL",
     "take the deliveries from a stream of NATS, nats://HOST[:PORT]/STREAM, and wait for more",
     OPTION_IS_TEXT(struct run_options, from)},
    {"results-to", "SUBJECT", "publish the result of message N of the stream to SUBJECT.N, once",
     OPTION_IS_TEXT(struct run_options, results_to)},
    {COMMON_OPTION_CREDS(struct run_options, nats.credentials)},
    {COMMON_OPTION_TLS_CA(struct run_options, nats.ca)},
    {COMMON_OPTION_TLS_CERT(struct run_options, nats.certificate)},
    {COMMON_OPTION_TLS_KEY(struct run_options, nats.key)},
    {"slog", "FILE", "append to a slogfile, for slogreport; compressed if FILE ends in .zst",
     OPTION_IS_TEXT(struct run_options, slog)},
    {"slog-rotate", "SIZE|blocks:N",
     "continue in FILE.1, FILE.2, ... when a file has SIZE bytes (64M) or N blocks",
     OPTION_IS_OTHER(struct run_options, rotation, take_rotation)},
    {"new-input",
     .help = "begin with a new file of deliveries, even if the store has not seen the end of the "
             "previous one",
     OPTION_IS_FLAG(struct run_options, new_input)},
    {"resume",
     .help = "skip the lines that the store has taken in, even if those were all of them; for "
             "restarting a run that may have ended",
     OPTION_IS_FLAG(struct run_options, resume)},
    {"set-limit", "VAT=NAME:N",
     "change a vat's limit (compute, instructions, cost, heap, syscalls, store-bytes, "
     "message-bytes, transfer-bytes; 0: none), which ends its quarantine too",
     OPTION_IS_PAIRS(struct run_options, operations.set_limits)},
    {"skip-delivery", "VAT", "leave out the delivery for which the vat is in quarantine",
     OPTION_IS_LIST(struct run_options, operations.skips)},
    {"release", "VAT", "end the vat's quarantine: the delivery is made again",
     OPTION_IS_LIST(struct run_options, operations.releases)},
    {"from-start",
     .help = "with --release: replay all of the vat's deliveries, and drop its snapshots",
     OPTION_IS_FLAG(struct run_options, operations.from_start)},
    {"terminate", "VAT", "terminate the vat",
     OPTION_IS_LIST(struct run_options, operations.terminations)},
    {"queue-lines", "N", "queue N lines at a time (default: 1)",
     RUN_NUMBER(queue_lines, 1, INT32_MAX)},
    {"cranks-per-commit", "N", "commit N cranks together (default: 1)",
     RUN_NUMBER(cranks_per_commit, 1, INT32_MAX)},
    {"snapshot-interval", "N",
     "snapshot a worker every N deliveries, 0: never (default: 200; the worker's start counts as "
     "one)",
     RUN_NUMBER(snapshot_interval, 0, INT32_MAX)},
    {"snapshot-initial", "N", "the same for the first snapshot (default: 3)",
     RUN_NUMBER(snapshot_initial, 1, INT32_MAX)},
    {"reap-interval", "N",
     "send bringOutYourDead to a vat that runs a bundle every N deliveries, 0: never; a store "
     "keeps its value (default: 1)",
     RUN_NUMBER(reap_interval, 0, INT32_MAX)},
    {COMMON_OPTION_GAS(struct run_options, gas, priced)},
    {COMMON_OPTION_PROFILE(struct run_options, profile)},
    {COMMON_OPTION_PROFILE_FOLDED(struct run_options, profile_folded)},
    {COMMON_OPTION_NATIVE_PROFILE(struct run_options, native_profile)},
    {COMMON_OPTION_NATIVE_FOLDED(struct run_options, native_folded)},
    {COMMON_OPTION_TRACE_FUNCTIONS(struct run_options, trace.path)},
    {COMMON_OPTION_TRACE_CLOCK(struct run_options, trace.clock)},
    {COMMON_OPTION_OVERHEAD(struct run_options, trace.overhead)},
    {COMMON_OPTION_JSON(struct run_options, json)},
};

const struct option_table run_options_table = {
    .program = "gaspipe",
    .command = "run",
    .usage =
        "usage: gaspipe run [options] --vat NAME=FILE ... DELIVERIES|-\n"
        "       gaspipe run [options] --store DIR DELIVERIES|-\n"
        "       gaspipe run [options] --store DIR --from nats://HOST/STREAM\n"
        "\n"
        "Delivers the JSON lines of the file DELIVERIES (or stdin) to contracts, each in its "
        "own worker process, and prints what each delivery cost and where its time went. A "
        "line: {\"vat\":\"bank\",\"method\":\"transfer\",\"args\":[\"alice\",\"bob\",10]}\n"
        "A run with a store resumes where the previous one stopped, with the vats that the store "
        "has.\n",
    .ending = "Exit status: 0 success, 1 a delivery failed, 2 usage, 3 bad input, 4 system "
              "failure, 5 a vat is in quarantine, 128+N ended by signal N.",
    .rows = rows,
    .row_count = sizeof rows / sizeof *rows,
};

/* What a server takes as a subject to publish to. */
static bool is_subject(const char *text)
{
    const size_t length = strlen(text);

    return length > 0 && length <= SUBJECT_MAX && strcspn(text, " \t\r\n\f*>") == length &&
           text[0] != '.' && text[length - 1] != '.' && strstr(text, "..") == NULL;
}

static int check_stream(const struct run_options *options, char **operands, struct error *error)
{
    struct nats_address address;

    if (options->from == NULL && options->results_to == NULL)
        return 0;
    if (options->from == NULL)
        return error_set(error, ERROR_USAGE, "--results-to needs --from URL");
    if (options->store == NULL)
        return error_set(error, ERROR_USAGE,
                         "--from needs --store DIR, which keeps its place in the stream");
    if (operands[0] != NULL)
        return error_set(error, ERROR_USAGE, "give a file of deliveries or --from, not both");
    if (options->results_to != NULL && !is_subject(options->results_to))
        return error_set(error, ERROR_USAGE,
                         "--results-to needs a subject, such as results, not '%s'",
                         options->results_to);
    if ((options->nats.certificate == NULL) != (options->nats.key == NULL))
        return error_set(error, ERROR_USAGE, "--tls-cert and --tls-key go together");
    return nats_address_parse(&address, options->from, error);
}

static int check_combination(struct run_options *options, char **operands, struct error *error)
{
    const bool operates = !operations_are_none(&options->operations);

    if (operates && options->store == NULL)
        return error_set(
            error, ERROR_USAGE,
            "--set-limit, --skip-delivery, --release and --terminate need --store DIR");
    if (options->operations.from_start && options->operations.releases.count == 0)
        return error_set(error, ERROR_USAGE, "--from-start needs --release VAT");
    if (options->vats.count + options->new_vats.count == 0 && options->store == NULL)
        return error_set(error, ERROR_USAGE,
                         "no vat: give at least one --vat NAME=FILE, or a --store that has vats");
    if (options->upgrades.count > 0 && options->store == NULL)
        return error_set(error, ERROR_USAGE, "--upgrade needs --store DIR");
    if ((operands[0] == NULL && !operates && options->upgrades.count == 0 &&
         options->from == NULL) ||
        (operands[0] != NULL && operands[1] != NULL))
        return error_set(error, ERROR_USAGE, "give one file of deliveries, or - for stdin");
    if (check_stream(options, operands, error) != 0)
        return -1;
    if (options->new_input && options->resume)
        return error_set(error, ERROR_USAGE, "--new-input and --resume do not go together");
    if (options->worker != NULL && !options->counter_given)
        options->counters = (struct counters){0};
    if (!options->timeout_given && !options->counters.qemu && !options->counters.compiled)
        options->timeout_ms = COMMON_OPTIONS_UNCOUNTED_TIMEOUT_MS;
    if (common_options_check_worker(options->worker, options->counters, error) != 0 ||
        common_options_check_limits(options->instruction_limit, options->cost_limit,
                                    options->counters, error) != 0)
        return -1;
    if (options->slog == NULL && (options->rotation.bytes > 0 || options->rotation.blocks > 0))
        return error_set(error, ERROR_USAGE, "--slog-rotate needs --slog FILE");
    if (common_options_check_profile(options->worker,
                                     options->profile != NULL || options->profile_folded != NULL,
                                     error) != 0 ||
        common_options_take_native(options->native_profile, options->native_folded,
                                   &options->counters, error) != 0 ||
        common_options_check_trace(&options->trace, options->counters, error) != 0)
        return -1;
    options->deliveries = operands[0];
    return 0;
}

static void set_defaults(struct run_options *options)
{
    *options = (struct run_options){
        .counters = {.qemu = true},
        .compute_limit = LAUNCHER_COMPUTE_LIMIT_DEFAULT,
        .near_protocol = RUN_NEAR_NEWEST,
        .transfer_limit = KERNEL_TRANSFER_DEFAULT,
        .timeout_ms = COMMON_OPTIONS_TIMEOUT_MS,
        .placement = PLACEMENT_AUTO,
        .snapshot_interval = SCHEDULER_SNAPSHOT_INTERVAL,
        .snapshot_initial = SCHEDULER_SNAPSHOT_INITIAL,
        .reap_interval = KERNEL_REAP_INTERVAL,
        .cranks_per_commit = 1,
        .queue_lines = 1,
        .jobs = 1,
        .retries = RETRIES_DEFAULT,
    };
}

/* argv[0], the options of the file, and the rest of argv: what comes later wins. */
static int join_arguments(struct option_list *joined, const struct option_list *configured,
                          int argc, char **argv, struct error *error)
{
    int result = option_list_add(joined, argv[0], error);

    for (size_t i = 0; i < configured->count && result == 0; i++)
        result = option_list_add(joined, configured->items[i], error);
    for (int i = 1; i < argc && result == 0; i++)
        result = option_list_add(joined, argv[i], error);
    return result == 0 ? option_list_add(joined, NULL, error) : -1;
}

/* joined: is given back by the caller, who uses the operands before. */
static enum option_result parse_configured(struct run_options *options, struct option_list *joined,
                                           int argc, char **argv, char ***operands,
                                           struct error *error)
{
    struct option_list configured = {0};
    int result = option_file_read(&configured, &run_options_table, options->config, error);

    run_options_free(options);
    set_defaults(options);
    options->configured = configured;
    if (result != 0 || join_arguments(joined, &configured, argc, argv, error) != 0)
        return OPTION_FAILED;
    return option_parse(&run_options_table, (int)joined->count - 1, joined->items, options,
                        operands, error);
}

enum option_result run_options_parse(struct run_options *options, int argc, char **argv,
                                     struct error *error)
{
    struct option_list joined = {0};
    enum option_result result;
    char **operands;

    set_defaults(options);
    result = option_parse(&run_options_table, argc, argv, options, &operands, error);
    if (result == OPTION_TAKEN && options->config != NULL)
        result = parse_configured(options, &joined, argc, argv, &operands, error);
    if (result == OPTION_TAKEN && check_combination(options, operands, error) != 0)
        result = OPTION_FAILED;
    option_list_free(&joined);
    return result;
}

void run_options_free(struct run_options *options)
{
    option_list_free(&options->vats);
    option_list_free(&options->new_vats);
    option_list_free(&options->upgrades);
    option_list_free(&options->bundles);
    operations_free(&options->operations);
    option_file_free(&options->configured);
}
