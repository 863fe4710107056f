/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/run/run_options.h"

#include <string.h>

#include "base/number.h"
#include "base/option/option_file.h"
#include "supervisor/common_options.h"
#include "supervisor/nats.h"
#include "supervisor/process/launcher.h"
#include "supervisor/schedule/scheduler.h"

bool operations_are_none(const struct operations *operations)
{
    return operations->set_limits.count + operations->skips.count + operations->releases.count +
               operations->terminations.count ==
           0;
}

static void operations_free(struct operations *operations)
{
    option_list_free(&operations->set_limits);
    option_list_free(&operations->skips);
    option_list_free(&operations->releases);
    option_list_free(&operations->terminations);
}

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
               : error_set(error, ERROR_USAGE, "%s is at most 96M, not '%s'", option, value);
}

static int take_heap(void *place, const char *option, char *value, struct error *error)
{
    int64_t *bytes = place;

    if (number_option_bytes(option, value, bytes, error) != 0)
        return -1;
    if (*bytes > KERNEL_HEAP_MAX)
        return error_set(error, ERROR_USAGE, "%s is at most 2G, which an engine can have, not '%s'",
                         option, value);
    return *bytes >= KERNEL_HEAP_MIN
               ? 0
               : error_set(error, ERROR_USAGE,
                           "%s is at least 48M, as an engine has 40M at its start, not '%s'",
                           option, value);
}

/* NAME=FILE */
static int take_named_file(void *place, const char *option, char *value, struct error *error)
{
    const char *equals = strchr(value, '=');

    if (equals == NULL || equals[1] == '\0')
        return error_set(error, ERROR_USAGE, "%s needs NAME=FILE, not '%s'", option, value);
    return option_list_add(place, value, error);
}

static const char *const wasm_tiers[] = {"interpreted", "compiled", NULL};

#define RUN_NUMBER(member, min, max) OPTION_IS_NUMBER(struct run_options, member, min, max)

static const struct option_row rows[] = {
    {"Vats", .kind = OPTION_HEADING},

    {"vat", "NAME=FILE",
     "create the vat NAME from FILE: a contract's source, a WebAssembly module, or a bundle of "
     "@endo/bundle-source (may be repeated)",
     OPTION_IS_OTHER(struct run_options, vats, take_named_file)},
    {"new-vat", "NAME=FILE",
     "create a vat in a store that has others; no effect once the store has it (may be repeated)",
     OPTION_IS_OTHER(struct run_options, new_vats, take_named_file)},
    {"upgrade", "NAME=FILE",
     "start the vat's next incarnation from FILE and keep its vatstore; requires --store (may be "
     "repeated)",
     OPTION_IS_OTHER(struct run_options, upgrades, take_named_file)},
    {"vat-options", "NAME=JSON",
     "create the vat with these members of SwingSet's configuration: {\"parameters\":VALUE,"
     "\"creationOptions\":{\"reapInterval\":N}} (may be repeated)",
     OPTION_IS_PAIRS(struct run_options, vat_options)},
    {"bundle", "NAME=FILE", "provide a bundle from which vats can create vats (may be repeated)",
     OPTION_IS_OTHER(struct run_options, bundles, take_named_file)},
    {"near-protocol", "N",
     "charge and limit new WebAssembly contracts as NEAR's protocol version N, 62 to 87, or up to "
     "158 for what is not released (default: 87)",
     RUN_NUMBER(near_protocol, RUN_NEAR_FIRST, RUN_NEAR_NIGHTLY)},
    {"wasm", NULL,
     "run WebAssembly interpreted, or compiled to machine code, with the same results and gas; "
     "compiled requires --counter none (default: interpreted)",
     OPTION_IS_CHOICE(struct run_options, wasm, wasm_tiers)},
    {"Input", .kind = OPTION_HEADING},

    {"config", "FILE",
     "read options from a JSON object, {\"vat\":{\"NAME\":\"FILE\"},\"max-syscalls\":1000}; the "
     "command line overrides them",
     OPTION_IS_TEXT(struct run_options, config)},
    {"queue-lines", "N", "queue N lines before running what they cause (default: 1)",
     RUN_NUMBER(queue_lines, 1, INT32_MAX)},
    {"again", .help = "begin with the first line of DELIVERIES, whatever the store has accepted",
     OPTION_IS_FLAG(struct run_options, again)},
    {"release-results",
     .help = "let vats collect objects that only results refer to, which else stay for later lines",
     OPTION_IS_FLAG(struct run_options, release_results)},
    {"resume",
     .help = "skip the lines that the store has accepted, even if it has accepted all of them; "
             "requires --store",
     OPTION_IS_FLAG(struct run_options, resume)},
    {"from", "URL",
     "read deliveries from a NATS stream, nats://HOST[:PORT]/STREAM, and wait for more; requires "
     "--store",
     OPTION_IS_TEXT(struct run_options, from)},
    {"results-to", "SUBJECT", "publish the result of message N to SUBJECT.N, once; requires --from",
     OPTION_IS_TEXT(struct run_options, results_to)},
    {COMMON_OPTION_CREDS(struct run_options, nats.credentials)},
    {COMMON_OPTION_TLS_CA(struct run_options, nats.ca)},
    {COMMON_OPTION_TLS_CERT(struct run_options, nats.certificate)},
    {COMMON_OPTION_TLS_KEY(struct run_options, nats.key)},
    {"Output", .kind = OPTION_HEADING},

    {"slog", "FILE", "append to a slogfile, for slogreport; a name that ends in .zst compresses it",
     OPTION_IS_TEXT(struct run_options, slog)},
    {"slog-rotate", "SIZE|blocks:N",
     "continue in FILE.1, FILE.2, ... after SIZE bytes (64M) or N commits; requires --slog",
     OPTION_IS_OTHER(struct run_options, rotation, take_rotation)},
    {COMMON_OPTION_GAS(struct run_options, gas, priced)},
    {COMMON_OPTION_JSON(struct run_options, json)},
    {"Store", .kind = OPTION_HEADING},

    {"store", "DIR", "keep the state in DIR, which is created if absent (default: in memory)",
     OPTION_IS_TEXT(struct run_options, store)},
    {"cranks-per-commit", "N", "commit N cranks together (default: 1)",
     RUN_NUMBER(cranks_per_commit, 1, INT32_MAX)},
    {"snapshot-interval", "N",
     "save a snapshot of a vat's worker every N deliveries, 0: never (default: 200)",
     RUN_NUMBER(snapshot_interval, 0, INT32_MAX)},
    {"snapshot-initial", "N", "save a vat's first snapshot after N deliveries (default: 3)",
     RUN_NUMBER(snapshot_initial, 1, INT32_MAX)},
    {"reap-interval", "N",
     "send bringOutYourDead to a vat with a bundle every N deliveries, 0: never (default: 1; a "
     "store keeps its first value)",
     RUN_NUMBER(reap_interval, 0, INT32_MAX)},
    {"Limits (exceeding one terminates the vat at the same point of every run)",
     .kind = OPTION_HEADING},

    {COMMON_OPTION_COMPUTE_LIMIT(struct run_options, compute_limit),
     .given = offsetof(struct run_options, compute_given)},
    {COMMON_OPTION_MAX_INSTRUCTIONS(struct run_options, instruction_limit, "50000000000"),
     .given = offsetof(struct run_options, instructions_given)},
    {COMMON_OPTION_MAX_COST(struct run_options, cost_limit, COMMON_OPTIONS_METERED_COST_TEXT),
     .given = offsetof(struct run_options, cost_given)},
    {"max-heap", "SIZE",
     "limit the engine's heap to SIZE bytes, 48M to 2G (default: half of --max-memory, or 2G)",
     OPTION_IS_OTHER(struct run_options, heap_limit, take_heap)},
    {"max-syscalls", "N", "limit each delivery to N syscalls, 0: no limit (default: 0)",
     RUN_NUMBER(syscall_limit, 0, INT64_MAX)},
    {"max-store-bytes", "SIZE",
     "limit the keys and values of a vatstore to SIZE bytes (default: no limit)",
     OPTION_IS_BYTES(struct run_options, store_limit)},
    {"max-message-bytes", "SIZE",
     "limit what one syscall sends, resolves or stores to SIZE bytes (default: no limit)",
     OPTION_IS_BYTES(struct run_options, message_limit)},
    {"max-transfer-bytes", "SIZE",
     "limit the JSON of a delivery's syscalls and answers to SIZE bytes, at most 96M (default: "
     "64M)",
     OPTION_IS_OTHER(struct run_options, transfer_limit, take_transfer),
     .given = offsetof(struct run_options, transfer_given)},
    {"Workers", .kind = OPTION_HEADING},

    {COMMON_OPTION_COUNTER(struct run_options, counters, "qemu"),
     .given = offsetof(struct run_options, counter_given)},
    {COMMON_OPTION_WORKER(struct run_options, worker)},
    {COMMON_OPTION_SANDBOX(struct run_options, sandbox)},
    {COMMON_OPTION_PLACEMENT(struct run_options, placement, COMMON_OPTION_PLACEMENT_HELP),
     .given = offsetof(struct run_options, placement_given)},
    {"jobs", "N",
     "run up to N deliveries at a time, to different vats; results do not depend on N (default: "
     "1; always 1 with both --max-workers and --slog)",
     RUN_NUMBER(jobs, 1, RUN_JOBS_MAX)},
    {"max-workers", "N",
     "keep at most N worker processes, 0: one per vat; evict the one idle for longest (default: "
     "0)",
     RUN_NUMBER(max_workers, 0, INT32_MAX)},
    {"Host failures", .kind = OPTION_HEADING},

    {COMMON_OPTION_DELIVERY_TIMEOUT(
         struct run_options, timeout_ms,
         "limit a worker to SECS seconds for a delivery, 0: no limit (default: 600; with --counter "
         "none: 60)"),
     .given = offsetof(struct run_options, timeout_given)},
    {"max-memory", "SIZE",
     "limit the writable memory of a worker process to SIZE bytes (default: 1G for contracts in "
     "native code; else 16G of addresses)",
     OPTION_IS_BYTES(struct run_options, memory_limit)},
    {"retries", "N", "retry a crank up to N times, then stop the run (default: 3)",
     RUN_NUMBER(retries, 0, RETRIES_MAX)},
    {"Quarantine (these options require --store)", .kind = OPTION_HEADING},

    {"release", "VAT", "end the vat's quarantine and repeat the delivery (may be repeated)",
     OPTION_IS_LIST(struct run_options, operations.releases)},
    {"from-start",
     .help = "drop the vat's snapshots and replay all its deliveries; requires --release",
     OPTION_IS_FLAG(struct run_options, operations.from_start)},
    {"skip-delivery", "VAT",
     "end the vat's quarantine without the delivery that caused it (may be repeated)",
     OPTION_IS_LIST(struct run_options, operations.skips)},
    {"set-limit", "VAT=NAME:N,...",
     "change limits of the vat and end its quarantine; names: compute, instructions, cost, heap, "
     "syscalls, store-bytes, message-bytes, transfer-bytes; 0: none (may be repeated)",
     OPTION_IS_PAIRS(struct run_options, operations.set_limits)},
    {"terminate", "VAT", "terminate the vat (may be repeated)",
     OPTION_IS_LIST(struct run_options, operations.terminations)},
    {"Profiles and traces", .kind = OPTION_HEADING},

    {COMMON_OPTION_PROFILE(struct run_options, profile)},
    {COMMON_OPTION_PROFILE_FOLDED(struct run_options, profile_folded)},
    {COMMON_OPTION_NATIVE_PROFILE(struct run_options, native_profile)},
    {COMMON_OPTION_NATIVE_FOLDED(struct run_options, native_folded)},
    {COMMON_OPTION_TRACE_FUNCTIONS(struct run_options, trace.path)},
    {COMMON_OPTION_TRACE_CLOCK(struct run_options, trace.clock)},
    {COMMON_OPTION_OVERHEAD(struct run_options, trace.overhead)},
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

/* True for a subject that a server accepts. */
static bool is_subject(const char *text)
{
    const size_t length = strlen(text);

    return length > 0 && length <= SUBJECT_MAX && strcspn(text, " \t\r\n\f*>") == length &&
           text[0] != '.' && text[length - 1] != '.' && strstr(text, "..") == NULL;
}

static int check_stream_options(const struct run_options *options, char **operands,
                                struct error *error)
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

/* Counters measure the interpreter, so compiled code excludes them. */
static int check_wasm(struct run_options *options, struct error *error)
{
    if (options->wasm != RUN_WASM_COMPILED)
        return 0;
    if (options->worker != NULL)
        return error_set(error, ERROR_USAGE, "--wasm compiled and --worker do not go together");
    if (!options->counter_given)
        options->counters = (struct counters){0};
    if (!options->counters.qemu && !options->counters.compiled)
        return 0;
    return error_set(error, ERROR_USAGE,
                     "--wasm compiled needs --counter none: counters measure the interpreter");
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
    if (options->resume && options->store == NULL)
        return error_set(error, ERROR_USAGE,
                         "--resume needs --store DIR, which keeps what was delivered");
    if (options->upgrades.count > 0 && options->store == NULL)
        return error_set(error, ERROR_USAGE, "--upgrade needs --store DIR");
    if ((operands[0] == NULL && !operates && options->upgrades.count == 0 &&
         options->from == NULL) ||
        (operands[0] != NULL && operands[1] != NULL))
        return error_set(error, ERROR_USAGE, "give one file of deliveries, or - for stdin");
    if (check_stream_options(options, operands, error) != 0)
        return -1;
    if (options->again && options->resume)
        return error_set(error, ERROR_USAGE, "--again and --resume do not go together");
    if (options->worker != NULL && !options->counter_given)
        options->counters = (struct counters){0};
    if (check_wasm(options, error) != 0)
        return -1;
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
static int join_run_arguments(struct option_list *joined, const struct option_list *configured,
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
    if (result != 0 || join_run_arguments(joined, &configured, argc, argv, error) != 0)
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
    option_list_free(&options->vat_options);
    option_list_free(&options->upgrades);
    option_list_free(&options->bundles);
    operations_free(&options->operations);
    option_file_free(&options->configured);
}
