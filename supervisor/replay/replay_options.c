/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/replay/replay_options.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/number.h"
#include "supervisor/option_value.h"
#include "supervisor/process/launcher.h"
#include "supervisor/transcript/delivery_compare.h"

const char replay_options_help[] =
    "usage: gaspipe replay [options] TRANSCRIPT...|SWINGSTORE|RECORDING|-\n"
    "       gaspipe replay [options] --store DIR VAT\n"
    "\n"
    "Repeats recorded deliveries, each vat's in a fresh worker, gives the recorded answers to its\n"
    "syscalls, and compares every syscall, result, count and snapshot with the recording. The\n"
    "recording is a slogfile (of gaspipe or SwingSet), in one file or several, an exported\n"
    "transcript, Agoric's swing-store (swingstore.sqlite or its folder), or with --store a vat,\n"
    "given by ID or name, in a store of gaspipe run. For a session that gaspipe-worker recorded,\n"
    "every frame is sent and compared.\n"
    "\n"
    "  --list                    print vats, spans, snapshots, bundles and what is missing\n"
    "  --vat VAT                 replay only this vat, given by ID or name (may be repeated)\n"
    "  --span N                  of a swing-store, only the spans that begin at position N\n"
    "  --from N, --to N          only deliveries N to N, and what leads to them since the last\n"
    "                            start of the worker\n"
    "  --bundle [VAT=]FILE|DIR   bundles that the recording does not contain, found by their hash\n"
    "                            or given for a vat (may be repeated)\n"
    "  --snapshots DIR           snapshots that the recording does not contain\n"
    "  --store DIR               the store that contains the vat's transcript\n"
    "  --from-start              with --store: replay all, not from the vat's last snapshot on\n"
    "  --export FILE             with --store: do not replay, write the transcript to FILE or -\n"
    "  --worker PATH             another worker, such as xsnap-worker\n"
    "  --lockdown FILE, --supervisor FILE\n"
    "                            SwingSet's runtime from these bundles\n"
    "  --tolerate WHAT           list and count differences in WHAT, and go on: gc (reads that\n"
    "                            depend on garbage collection), computrons, instructions or\n"
    "                            snapshots (may be repeated)\n"
    "  --counter COUNTERS        qemu: machine instructions; compiled: block cost, by the worker\n"
    "                            that make metered builds; qemu,compiled; none (default: none)\n"
    "  --compute-limit N         computrons for each delivery, 0: no limit (default: 100000000)\n"
    "  --max-cost N              units of block cost for each delivery, 0: no limit (default: 0)\n"
    "  --max-instructions N      machine instructions for each delivery, 0: no limit (default: 0)\n"
    "  --sandbox basic|strict|off  confine workers as far as this system can; refuse to run with\n"
    "                            less than full confinement; or not at all (default: basic)\n"
    "  --delivery-timeout SECS   a delivery that takes longer differs, 0: no limit (default: 600)\n"
    "  --parallel N, --jobs N    replay N vats, or N spans of a swing-store, at the same time\n"
    "                            (default: 1)\n"
    "  --deliveries              with --json: print a line for each delivery\n"
    "  --json                    print JSON lines\n"
    "  --help                    print this and exit\n"
    "\n"
    "Exit status: 0 all the same, 1 something differs, 2 usage, 3 bad input, 4 system failure.\n";

enum {
    OPTION_VAT = 256,
    OPTION_BUNDLE,
    OPTION_STORE,
    OPTION_FROM_START,
    OPTION_EXPORT,
    OPTION_COUNTER,
    OPTION_COMPUTE,
    OPTION_INSTRUCTIONS,
    OPTION_MAX_COST,
    OPTION_TIMEOUT,
    OPTION_JOBS,
    OPTION_SANDBOX,
    OPTION_PART,
    OPTION_ONLY,
    OPTION_SPAN,
    OPTION_FROM,
    OPTION_TO,
    OPTION_LIST,
    OPTION_WORKER,
    OPTION_LOCKDOWN,
    OPTION_SUPERVISOR,
    OPTION_SNAPSHOTS,
    OPTION_TOLERATE,
    OPTION_DELIVERIES,
    OPTION_JSON,
    OPTION_HELP
};

enum { JOBS_MAX = 1024 };

static const struct option long_options[] = {
    {"vat", required_argument, NULL, OPTION_VAT},
    {"bundle", required_argument, NULL, OPTION_BUNDLE},
    {"store", required_argument, NULL, OPTION_STORE},
    {"from-start", no_argument, NULL, OPTION_FROM_START},
    {"export", required_argument, NULL, OPTION_EXPORT},
    {"counter", required_argument, NULL, OPTION_COUNTER},
    {"compute-limit", required_argument, NULL, OPTION_COMPUTE},
    {"max-cost", required_argument, NULL, OPTION_MAX_COST},
    {"max-instructions", required_argument, NULL, OPTION_INSTRUCTIONS},
    {"delivery-timeout", required_argument, NULL, OPTION_TIMEOUT},
    {"jobs", required_argument, NULL, OPTION_JOBS},
    {"parallel", required_argument, NULL, OPTION_JOBS},
    {"span", required_argument, NULL, OPTION_SPAN},
    {"from", required_argument, NULL, OPTION_FROM},
    {"to", required_argument, NULL, OPTION_TO},
    {"list", no_argument, NULL, OPTION_LIST},
    {"worker", required_argument, NULL, OPTION_WORKER},
    {"lockdown", required_argument, NULL, OPTION_LOCKDOWN},
    {"supervisor", required_argument, NULL, OPTION_SUPERVISOR},
    {"tolerate", required_argument, NULL, OPTION_TOLERATE},
    {"deliveries", no_argument, NULL, OPTION_DELIVERIES},
    {"snapshots", required_argument, NULL, OPTION_SNAPSHOTS},
    {"sandbox", required_argument, NULL, OPTION_SANDBOX},
    {"part", required_argument, NULL, OPTION_PART}, /* replay_children.h; not for users */
    {"only", required_argument, NULL, OPTION_ONLY}, /* likewise */
    {"json", no_argument, NULL, OPTION_JSON},
    {"help", no_argument, NULL, OPTION_HELP},
    {0},
};

static int add(char ***list, size_t *count, char *value, struct error *error)
{
    char **values = reallocarray(*list, *count + 1, sizeof *values);

    if (values == NULL)
        return error_memory(error, "the command line");
    *list = values;
    values[(*count)++] = value;
    return 0;
}

/* I/N */
static int take_part(struct replay_options *options, const char *value, struct error *error)
{
    const char *at = value;

    options->is_part = true;
    if (!number_take(&at, &options->part) || *at++ != '/' ||
        !number_read(at, UINT64_MAX, &options->part_count) || options->part >= options->part_count)
        return error_set(error, ERROR_USAGE, "--part %s: not I/N", value);
    return 0;
}

/* VAT:START, a span of a swing-store. */
static int take_only(struct replay_options *options, char *value, struct error *error)
{
    char *colon = strchr(value, ':');
    uint64_t span;

    if (colon == NULL || !number_read(colon + 1, INT64_MAX, &span))
        return error_set(error, ERROR_USAGE, "--only %s: not VAT:START", value);
    *colon = '\0';
    options->only = value;
    options->selection.span = (int64_t)span;
    return 0;
}

static int take_tolerance(struct replay_options *options, const char *what, struct error *error)
{
    static const struct {
        const char *name;
        enum compare_aspect aspect;
    } aspects[] = {{"computrons", COMPARE_COMPUTRONS},
                   {"instructions", COMPARE_INSTRUCTIONS},
                   {"snapshots", COMPARE_SNAPSHOT}};

    for (size_t i = 0; i < sizeof aspects / sizeof *aspects; i++)
        if (strcmp(what, aspects[i].name) == 0) {
            options->tolerated |= 1U << aspects[i].aspect;
            return 0;
        }
    if (strcmp(what, "gc") != 0)
        return error_set(error, ERROR_USAGE,
                         "--tolerate takes gc, computrons, instructions or snapshots, not %s",
                         what);
    options->tolerates_gc = true;
    return 0;
}

static int take_place(const char *option, const char *value, int64_t *place, struct error *error)
{
    uint64_t number;

    if (number_option(option, value, 0, INT64_MAX, &number, error) != 0)
        return -1;
    *place = (int64_t)number;
    return 0;
}

/* Options that say what of the source is replayed, and with what. 1: it is none of these. */
static int take_selection(struct replay_options *options, int option, struct error *error)
{
    switch (option) {
    case OPTION_ONLY:
        return take_only(options, optarg, error);
    case OPTION_SPAN:
        /* A part's own span stays. */
        return options->only != NULL
                   ? 0
                   : take_place("--span", optarg, &options->selection.span, error);
    case OPTION_FROM:
        return take_place("--from", optarg, &options->selection.from, error);
    case OPTION_TO:
        return take_place("--to", optarg, &options->selection.to, error);
    case OPTION_WORKER:
        options->worker = optarg;
        return 0;
    case OPTION_LOCKDOWN:
        options->lockdown = optarg;
        return 0;
    case OPTION_SUPERVISOR:
        options->supervisor = optarg;
        return 0;
    case OPTION_TOLERATE:
        return take_tolerance(options, optarg, error);
    case OPTION_DELIVERIES:
        options->deliveries = true;
        return 0;
    case OPTION_SNAPSHOTS:
        options->snapshots = optarg;
        return 0;
    default:
        return 1;
    }
}

static int take_option(void *context, int option, struct error *error)
{
    struct replay_options *options = context;
    int taken = take_selection(options, option, error);

    if (taken <= 0)
        return taken;
    switch (option) {
    case OPTION_VAT:
        return add(&options->vats, &options->vat_count, optarg, error);
    case OPTION_BUNDLE:
        return add(&options->bundles, &options->bundle_count, optarg, error);
    case OPTION_STORE:
        options->store = optarg;
        return 0;
    case OPTION_FROM_START:
        options->from_start = true;
        return 0;
    case OPTION_EXPORT:
        options->export = optarg;
        return 0;
    case OPTION_COUNTER:
        return option_take_counter(optarg, &options->counters, error);
    case OPTION_COMPUTE:
        return option_take_compute(optarg, &options->compute_limit, error);
    case OPTION_INSTRUCTIONS:
        return number_option("--max-instructions", optarg, 0, INT64_MAX,
                             &options->instruction_limit, error);
    case OPTION_MAX_COST:
        return number_option("--max-cost", optarg, 0, INT64_MAX, &options->cost_limit, error);
    case OPTION_TIMEOUT:
        return option_take_timeout(optarg, &options->timeout_ms, error);
    case OPTION_JOBS:
        return number_option("--jobs", optarg, 1, JOBS_MAX, &options->jobs, error);
    case OPTION_SANDBOX:
        return option_take_sandbox(optarg, &options->sandbox, error);
    case OPTION_LIST:
        options->list = true;
        return 0;
    case OPTION_PART:
        return take_part(options, optarg, error);
    case OPTION_JSON:
        options->json = true;
        return 0;
    default:
        options->help = true;
        return 0;
    }
}

/* With --store: the vat is what is named. */
static int check_stored(struct replay_options *options, int count, char **arguments,
                        struct error *error)
{
    if (options->vat_count > 0 || count != 1)
        return error_set(error, ERROR_USAGE, "with --store give one vat, by its ID or name");
    options->stored_vat = arguments[0];
    return 0;
}

/* One that is not there is told of where it is opened. */
static bool is_file(const char *path)
{
    struct stat status;

    if (stat(path, &status) != 0)
        return strcmp(path, "-") != 0;
    return S_ISREG(status.st_mode) || S_ISDIR(status.st_mode);
}

static int check_sources(struct replay_options *options, struct error *error)
{
    if (options->source_count == 0)
        return error_set(error, ERROR_USAGE,
                         "give one slogfile or transcript, or several, or - for stdin");
    for (size_t i = 0; i < options->source_count && options->jobs > 1; i++)
        if (!is_file(options->sources[i]))
            return error_set(error, ERROR_USAGE, "--jobs wants files, which each job reads itself");
    return 0;
}

static int check(struct replay_options *options, int argc, char **argv, struct error *error)
{
    if (options->help)
        return 0;
    options->selection.vats = options->only != NULL ? &options->only : options->vats;
    options->selection.vat_count = options->only != NULL ? 1 : options->vat_count;
    if (options->worker != NULL && (options->counters.qemu || options->counters.compiled))
        return error_set(error, ERROR_USAGE, "--worker runs without the counter");
    if ((options->lockdown == NULL) != (options->supervisor == NULL))
        return error_set(error, ERROR_USAGE, "--lockdown and --supervisor go together");
    if (options->cost_limit > 0 && !options->counters.compiled)
        return error_set(error, ERROR_USAGE, "--max-cost wants --counter compiled");
    if (options->instruction_limit > 0 && !options->counters.qemu)
        return error_set(error, ERROR_USAGE, "--max-instructions wants --counter qemu");
    if (options->store != NULL)
        return check_stored(options, argc - optind, argv + optind, error);
    if (options->from_start || options->export != NULL)
        return error_set(error, ERROR_USAGE, "--from-start and --export want --store DIR");
    options->sources = argv + optind;
    options->source_count = (size_t)(argc - optind);
    return check_sources(options, error);
}

int replay_options_parse(struct replay_options *options, int argc, char **argv, struct error *error)
{
    *options = (struct replay_options){
        .compute_limit = LAUNCHER_COMPUTE_LIMIT_DEFAULT,
        .timeout_ms = OPTION_TIMEOUT_MS_DEFAULT,
        .jobs = 1,
        .part_count = 1,
        .selection = {.span = -1, .to = INT64_MAX},
    };
    if (option_take_all(argc, argv, long_options, take_option, options, error) != 0)
        return -1;
    return check(options, argc, argv, error);
}

void replay_options_free(struct replay_options *options)
{
    free(options->vats);
    free(options->bundles);
    options->vats = options->bundles = NULL;
}
