/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/replay/replay_options.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/number.h"
#include "supervisor/common_options.h"
#include "supervisor/replay/source/source.h"
#include "supervisor/transcript/delivery_compare.h"

enum { JOBS_MAX = 1024 };

/* I/N */
static int take_part_option(void *place, const char *option, char *value, struct error *error)
{
    struct replay_options *options = place;
    const char *at = value;

    options->is_part = true;
    if (!number_take(&at, &options->part) || *at++ != '/' ||
        !number_read(at, UINT64_MAX, &options->part_count) || options->part >= options->part_count)
        return error_set(error, ERROR_USAGE, "%s %s: not I/N", option, value);
    return 0;
}

static int take_slot(void *place, const char *option, char *value, struct error *error)
{
    struct replay_options *options = place;
    uint64_t slot;

    if (!number_read(value, JOBS_MAX, &slot))
        return error_set(error, ERROR_USAGE, "%s %s: not a number up to %d", option, value,
                         JOBS_MAX);
    options->slot = (int)slot;
    return 0;
}

/* VAT:START, a span of a swing-store. */
static int take_only(void *place, const char *option, char *value, struct error *error)
{
    struct replay_options *options = place;
    char *colon = strchr(value, ':');
    uint64_t span;

    if (colon == NULL || !number_read(colon + 1, INT64_MAX, &span))
        return error_set(error, ERROR_USAGE, "%s %s: not VAT:START", option, value);
    *colon = '\0';
    options->only = value;
    options->only_span = (int64_t)span;
    return 0;
}

/* The aspect of that name, as options have it; -1: none. */
static int aspect_named(const char *name)
{
    static const struct {
        const char *name;
        enum compare_aspect aspect;
    } aspects[] = {{"computrons", COMPARE_COMPUTRONS},
                   {"instructions", COMPARE_INSTRUCTIONS},
                   {"snapshots", COMPARE_SNAPSHOT},
                   {"allocation", COMPARE_ALLOCATION}};

    for (size_t i = 0; i < sizeof aspects / sizeof *aspects; i++)
        if (strcmp(name, aspects[i].name) == 0)
            return (int)aspects[i].aspect;
    return -1;
}

int replay_options_take_tolerance(void *place, const char *option, char *value, struct error *error)
{
    struct replay_options *options = place;
    const int aspect = aspect_named(value);

    if (strcmp(value, "gc") == 0) {
        options->tolerates_gc = true;
        return 0;
    }
    if (aspect < 0)
        return error_set(error, ERROR_USAGE,
                         "%s takes gc, computrons, instructions, snapshots or allocation, not %s",
                         option, value);
    options->tolerated |= 1U << aspect;
    options->compares_allocation = options->compares_allocation || aspect == COMPARE_ALLOCATION;
    return 0;
}

/* All but allocation is compared strictly anyway. */
int replay_options_take_strict(void *place, const char *option, char *value, struct error *error)
{
    struct replay_options *options = place;
    const int aspect = aspect_named(value);

    if (aspect < 0)
        return error_set(error, ERROR_USAGE,
                         "%s takes computrons, instructions, snapshots or allocation, not %s",
                         option, value);
    options->tolerated &= ~(1U << aspect);
    options->compares_allocation = options->compares_allocation || aspect == COMPARE_ALLOCATION;
    return 0;
}

static const struct option_row rows[] = {
    {"Recording", .kind = OPTION_HEADING},

    {"list", .help = "print vats, spans, snapshots, bundles and what is missing; replay nothing",
     OPTION_IS_FLAG(struct replay_options, list)},
    {"vat", "VAT", "replay only this vat, given by ID or name (may be repeated)",
     OPTION_IS_LIST(struct replay_options, vats)},
    {"span", "N", "replay only the spans of a swing-store or archive that begin at position N",
     OPTION_IS_PLACE(struct replay_options, selection.span)},
    {"from", "N",
     "replay only deliveries from N on, and those since the worker's last start that lead to them",
     OPTION_IS_PLACE(struct replay_options, selection.from)},
    {"to", "N", "replay only deliveries up to N",
     OPTION_IS_PLACE(struct replay_options, selection.to)},
    {"bundle", "[VAT=]FILE|DIR",
     "add bundles that the recording lacks, found by hash or given for a vat (may be repeated)",
     OPTION_IS_LIST(struct replay_options, bundles)},
    {"snapshots", "DIR", "add snapshots that the recording lacks",
     OPTION_IS_TEXT(struct replay_options, snapshots)},
    {"store", "DIR", "replay the transcript of a vat in this store of gaspipe run",
     OPTION_IS_TEXT(struct replay_options, store)},
    {"from-start", .help = "replay all, not only from the last snapshot; requires --store",
     OPTION_IS_FLAG(struct replay_options, from_start)},
    {"export", "FILE", "write the transcript to FILE or -; replay nothing; requires --store",
     OPTION_IS_TEXT(struct replay_options, export)},
    {"Comparison", .kind = OPTION_HEADING},

    {"tolerate", "WHAT",
     "list and count differences in WHAT and continue: gc (reads that depend on garbage "
     "collection), computrons, instructions, snapshots or allocation (may be repeated)",
     .kind = OPTION_OTHER, .take = replay_options_take_tolerance},
    {"strict", "WHAT",
     "stop a vat at a difference in WHAT: computrons, instructions, snapshots (all three the "
     "default) or allocation (may be repeated)",
     .kind = OPTION_OTHER, .take = replay_options_take_strict},
    {"against", "PATH",
     "run this worker too, and compare its syscalls, answers and costs with the first worker's",
     OPTION_IS_TEXT(struct replay_options, against)},
    {"Workers", .kind = OPTION_HEADING},

    {COMMON_OPTION_COUNTER(struct replay_options, counters, "none")},
    {COMMON_OPTION_WORKER(struct replay_options, worker)},
    {"lockdown", "FILE",
     "start SwingSet's runtime from this lockdown bundle; requires --supervisor",
     OPTION_IS_TEXT(struct replay_options, lockdown)},
    {"supervisor", "FILE",
     "start SwingSet's runtime from this supervisor bundle; requires --lockdown",
     OPTION_IS_TEXT(struct replay_options, supervisor)},
    {COMMON_OPTION_SANDBOX(struct replay_options, sandbox)},
    {COMMON_OPTION_PLACEMENT(struct replay_options, placement, COMMON_OPTION_PLACEMENT_HELP)},
    {"parallel", "N", "replay N vats, or N spans of a swing-store, at a time (default: 1)",
     OPTION_IS_NUMBER(struct replay_options, jobs, 1, JOBS_MAX)},
    {"jobs", "N", "do the same as --parallel",
     OPTION_IS_NUMBER(struct replay_options, jobs, 1, JOBS_MAX)},
    {"Limits", .kind = OPTION_HEADING},

    {COMMON_OPTION_COMPUTE_LIMIT(struct replay_options, compute_limit),
     .given = offsetof(struct replay_options, compute_given)},
    {COMMON_OPTION_MAX_INSTRUCTIONS(struct replay_options, instruction_limit, "0")},
    {COMMON_OPTION_MAX_COST(struct replay_options, cost_limit, COMMON_OPTIONS_METERED_COST_TEXT),
     .given = offsetof(struct replay_options, cost_given)},
    {COMMON_OPTION_DELIVERY_TIMEOUT(struct replay_options, timeout_ms,
                                    "report a delivery that takes longer than SECS seconds as "
                                    "different, 0: no limit (default: 600)")},
    {"Output", .kind = OPTION_HEADING},

    {COMMON_OPTION_JSON(struct replay_options, json)},
    {"deliveries", .help = "print a line for each delivery; requires --json",
     OPTION_IS_FLAG(struct replay_options, deliveries)},
    {COMMON_OPTION_GAS(struct replay_options, gas, priced)},
    {"Profiles and traces (not with --parallel)", .kind = OPTION_HEADING},

    {COMMON_OPTION_PROFILE(struct replay_options, profile)},
    {COMMON_OPTION_PROFILE_FOLDED(struct replay_options, profile_folded)},
    {COMMON_OPTION_NATIVE_PROFILE(struct replay_options, native_profile)},
    {COMMON_OPTION_NATIVE_FOLDED(struct replay_options, native_folded)},
    {COMMON_OPTION_TRACE_FUNCTIONS(struct replay_options, trace.path)},
    {COMMON_OPTION_TRACE_CLOCK(struct replay_options, trace.clock)},
    {COMMON_OPTION_OVERHEAD(struct replay_options, trace.overhead)},
    /* Passed by a replay to its own children (replay.c); not for users. */

    {"part", "I/N", .kind = OPTION_OTHER, .take = take_part_option},
    {"slot", "N", .kind = OPTION_OTHER, .take = take_slot},
    {"only", "VAT:START", .kind = OPTION_OTHER, .take = take_only},
};

const struct option_table replay_options_table = {
    .program = "gaspipe",
    .command = "replay",
    .usage =
        "usage: gaspipe replay [options] TRANSCRIPT...|SWINGSTORE|RECORDING|-\n"
        "       gaspipe replay [options] --store DIR VAT\n"
        "\n"
        "Repeats recorded deliveries, each vat's in a fresh worker, gives the recorded answers "
        "to its syscalls, and compares every syscall, result, count and snapshot with the "
        "recording. The recording is a slogfile (of gaspipe or SwingSet), in one file or "
        "several, an exported transcript, Agoric's swing-store (swingstore.sqlite or its "
        "directory), a directory of archived transcripts, or with --store a vat, given by ID or "
        "name, in "
        "a store of gaspipe run. For a "
        "session that gaspipe-worker recorded, every frame is sent and compared.\n",
    .ending = "Exit status: 0 all the same, 1 something differs, 2 usage, 3 bad input, 4 system "
              "failure.",
    .rows = rows,
    .row_count = sizeof rows / sizeof *rows,
};

/* With --store, the operand is the vat. */
static int check_stored(struct replay_options *options, char **operands, struct error *error)
{
    if (options->vats.count > 0 || operands[0] == NULL || operands[1] != NULL)
        return error_set(error, ERROR_USAGE, "with --store give one vat, by its ID or name");
    options->stored_vat = operands[0];
    return 0;
}

/* A missing file is reported when it is opened. */
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
            return error_set(error, ERROR_USAGE, "--jobs needs files, which each job reads itself");
    return 0;
}

/* Replaces a directory of transcripts by its files. */
static int take_archive(struct replay_options *options, struct error *error)
{
    const char *directory = options->sources[0];
    struct archive_files *files = &options->archived;

    if (options->source_count != 1 || !archive_directory_is_one(directory))
        return 0;
    if (archive_directory_read(files, directory, &options->selection, error) != 0)
        return -1;
    options->archived_paths = calloc(files->count + 1, sizeof *options->archived_paths);
    if (options->archived_paths == NULL)
        return error_memory(error, "the files of an archive");
    for (size_t i = 0; i < files->count; i++)
        options->archived_paths[i] = files->files[i].path;
    options->archive = directory;
    options->sources = options->archived_paths;
    options->source_count = files->count;
    if (options->snapshots == NULL)
        options->snapshots = directory;
    return 0;
}

/* A part's own vat and span take the place of the user's. */
static void select_part(struct replay_options *options)
{
    options->selection.vats = options->vats.items;
    options->selection.vat_count = options->vats.count;
    if (options->only == NULL)
        return;
    options->selection.vats = &options->only;
    options->selection.vat_count = 1;
    options->selection.span = options->only_span;
}

/* Their files are written by one process, delivery by delivery. */
static int check_probes(struct replay_options *options, struct error *error)
{
    const bool profiled = options->profile != NULL || options->profile_folded != NULL;
    const bool native = options->native_profile != NULL || options->native_folded != NULL;

    if (common_options_check_profile(options->worker, profiled, error) != 0 ||
        common_options_take_native(options->native_profile, options->native_folded,
                                   &options->counters, error) != 0 ||
        common_options_check_trace(&options->trace, options->counters, error) != 0)
        return -1;
    if (!profiled && !native && options->trace.path == NULL)
        return 0;
    if (options->jobs > 1)
        return error_set(error, ERROR_USAGE,
                         "--profile, --native-profile and --trace-functions do not go together "
                         "with --parallel");
    if (options->list || options->export != NULL)
        return error_set(error, ERROR_USAGE,
                         "--list and --export replay nothing that could be profiled or traced");
    return 0;
}

int replay_options_check(struct replay_options *options, char **operands, struct error *error)
{
    select_part(options);
    if (check_probes(options, error) != 0)
        return -1;
    if (common_options_check_worker(options->worker, options->counters, error) != 0 ||
        common_options_check_limits(options->instruction_limit, options->cost_limit,
                                    options->counters, error) != 0)
        return -1;
    if ((options->lockdown == NULL) != (options->supervisor == NULL))
        return error_set(error, ERROR_USAGE, "--lockdown and --supervisor go together");
    if (options->store != NULL)
        return check_stored(options, operands, error);
    if (options->from_start || options->export != NULL)
        return error_set(error, ERROR_USAGE, "--from-start and --export need --store DIR");
    options->sources = operands;
    while (operands[options->source_count] != NULL)
        options->source_count++;
    return check_sources(options, error) == 0 ? take_archive(options, error) : -1;
}

struct replay_options replay_options_defaults(void)
{
    return (struct replay_options){
        .compute_limit = LAUNCHER_COMPUTE_LIMIT_DEFAULT,
        .timeout_ms = COMMON_OPTIONS_TIMEOUT_MS,
        .jobs = 1,
        .placement = PLACEMENT_AUTO,
        .slot = PLACEMENT_NO_SLOT,
        .part_count = 1,
        .selection = {.span = -1, .to = INT64_MAX},
    };
}

enum option_result replay_options_parse(struct replay_options *options, int argc, char **argv,
                                        struct error *error)
{
    enum option_result result;
    char **operands;

    *options = replay_options_defaults();
    result = option_parse(&replay_options_table, argc, argv, options, &operands, error);
    if (result == OPTION_TAKEN && replay_options_check(options, operands, error) != 0)
        return OPTION_FAILED;
    return result;
}

void replay_options_free(struct replay_options *options)
{
    option_list_free(&options->vats);
    option_list_free(&options->bundles);
    archive_files_free(&options->archived);
    free(options->archived_paths);
}

/* ---- the source ---- */

bool replay_source_is_swing_store(const struct replay_options *options)
{
    return options->store == NULL && options->source_count == 1 &&
           swing_source_is_one(options->sources[0]);
}

struct replay_source *replay_source_open(const struct replay_options *options, struct error *error)
{
    if (options->store != NULL)
        return store_source_open(options->store, options->stored_vat, options->from_start, error);
    if (replay_source_is_swing_store(options))
        return swing_source_open(options->sources[0], &options->selection, error);
    return line_source_open(options->sources, options->source_count, error);
}
