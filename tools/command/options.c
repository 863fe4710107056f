/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/command/options.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/option/option_complete.h"
#include "base/output/output_file.h"
#include "slog/read/decoder.h"
#include "tools/otlp/otlp_batch.h"
#include "tools/output/render.h"

enum { OUTPUTS = 6 };

/* A file that comes from standard input can be looked at under this name. */
static const char *input_path(const char *file)
{
    return strcmp(file, "-") == 0 ? "/dev/stdin" : file;
}

static int check_against_inputs(const struct output_wanted *output, char *const *files,
                                struct error *error)
{
    for (char *const *file = files; *file != NULL; file++) {
        if (output_file_check(output->path, output->what, input_path(*file), error) != 0)
            return -1;
    }
    return 0;
}

static int check_outputs(const struct output_wanted outputs[OUTPUTS], char *const *files,
                         struct error *error)
{
    for (size_t i = 0; i < OUTPUTS; i++)
        if (outputs[i].path != NULL && check_against_inputs(&outputs[i], files, error) != 0)
            return -1;
    return 0;
}

static int check_standard_output(char *const *files, struct error *error)
{
    for (char *const *file = files; *file != NULL; file++) {
        if (output_file_check_descriptor(STDOUT_FILENO, "standard output", input_path(*file),
                                         error) != 0)
            return -1;
    }
    return 0;
}

/*
 * Refuses, with ERROR_USAGE, outputs (options' files and standard output) that are one of
 * the files that are read, or one another.
 */
static int outputs_check(const struct options *options, struct error *error)
{
    const bool to_collector = options->otlp != NULL && otlp_batch_is_url(options->otlp);
    const struct output_wanted outputs[OUTPUTS] = {
        {options->trace, "--trace"},
        {options->html, "--html"},
        {to_collector ? NULL : options->otlp, "--otlp"},
        {options->histograms, "--histograms"},
        {options->flame, "--flame"},
        {options->metrics, "--metrics"},
    };

    if (check_outputs(outputs, options->files, error) != 0)
        return -1;
    if (output_file_check_all_apart(outputs, OUTPUTS, error) != 0)
        return -1;
    if (options->against != NULL &&
        check_outputs(outputs, (char *const[]){(char *)options->against, NULL}, error) != 0)
        return -1;
    for (size_t i = 0; i < options->profiles.count; i++)
        if (check_outputs(outputs, (char *const[]){(char *)options->profiles.items[i], NULL},
                          error) != 0)
            return -1;
    return check_standard_output(options->files, error);
}

static const char *const command_names[COMMAND_COUNT] = {
    [COMMAND_SUMMARY] = "summary", [COMMAND_MERGE] = "merge",     [COMMAND_COMPARE] = "compare",
    [COMMAND_STALLS] = "stalls",   [COMMAND_RUNS] = "runs",       [COMMAND_EXTRACT] = "extract",
    [COMMAND_ROWS] = "rows",       [COMMAND_PROFILE] = "profile", [COMMAND_WAITS] = "waits",
};

/* Which commands an option is for: bits by enum command. */
enum {
    REPORT = 1 << COMMAND_REPORT,
    SUMS = 1 << COMMAND_SUMMARY | 1 << COMMAND_MERGE,
    LISTS = REPORT | 1 << COMMAND_COMPARE | 1 << COMMAND_STALLS | 1 << COMMAND_RUNS |
            1 << COMMAND_WAITS,
    READERS = LISTS | 1 << COMMAND_SUMMARY | 1 << COMMAND_EXTRACT | 1 << COMMAND_ROWS,
    PROFILE = 1 << COMMAND_PROFILE,
    PRINTERS = LISTS | SUMS | PROFILE,
};

static int take_sort(void *place, const char *option, char *value, struct error *error)
{
    const struct rank_column **column = place;
    struct buf names = {0};

    *column = rank_find_column(value);
    if (*column != NULL)
        return 0;
    rank_column_names(&names);
    error_set(error, ERROR_USAGE, "%s %s: no such column; there are %s", option, value,
              buf_string(&names));
    buf_free(&names);
    return -1;
}

static const char *const by_words[] = {"all",      "replay", "vat",      "kind",  "method",
                                       "syscall",  "block",  "run",      "phase", "growth",
                                       "function", "line",   "delivery", NULL};

static int take_cost_by(struct options *options, const char *option, const char *value,
                        struct error *error)
{
    for (int i = 0; cost_by_names[i] != NULL; i++)
        if (strcmp(value, cost_by_names[i]) == 0) {
            options->cost_by = (enum cost_by)i;
            return 0;
        }
    return error_set(error, ERROR_USAGE,
                     "%s of a profile is function, line, vat, method or delivery, not '%s'", option,
                     value);
}

/* Words with commas between. */
static int take_by(void *place, const char *option, char *value, struct error *error)
{
    struct options *options = place;
    bool *by = options->by;
    const char *word = value;

    if (options->command == COMMAND_PROFILE)
        return take_cost_by(options, option, value, error);
    memset(by, 0, sizeof options->by);
    for (;;) {
        size_t length = strcspn(word, ",");
        int kind = 0;

        while (kind < GROUP_KINDS &&
               (strlen(group_kind_name((enum group_kind)kind)) != length ||
                strncmp(word, group_kind_name((enum group_kind)kind), length) != 0))
            kind++;
        if (kind == GROUP_KINDS)
            return error_set(
                error, ERROR_USAGE,
                "%s is all, replay, vat, kind, method, syscall, block, run, phase or growth, or "
                "several with commas between, not '%s'",
                option, value);
        by[kind] = true;
        if (word[length] == '\0')
            return 0;
        word += length + 1;
    }
}

static int take_gas(void *place, const char *option, char *value, struct error *error)
{
    (void)option;
    return gas_model_read(place, value, error);
}

#define SELECTION_RANGE(member)                                                                    \
    OPTION_IS_OTHER(struct options, selection.member, selection_take_range), .commands = READERS

static const struct option_row rows[] = {
    {"Output", .kind = OPTION_HEADING},
    {"json", .help = "JSON lines", OPTION_IS_FLAG(struct options, json), .commands = PRINTERS},
    {"csv", .help = "comma-separated values", OPTION_IS_FLAG(struct options, csv),
     .commands = REPORT | SUMS},
    {"trace", "FILE", "write a trace for Perfetto or speedscope",
     OPTION_IS_TEXT(struct options, trace), .commands = REPORT},
    {"html", "FILE", "write a page for a browser: sums, timeline, stalls",
     OPTION_IS_TEXT(struct options, html), .commands = REPORT},
    {"profile", "FILE",
     "show what functions took on that page, when they ran in that trace, or made others wait, "
     "from "
     "a profile of gaspipe run, replay or trace; may be given more than once",
     OPTION_IS_LIST(struct options, profiles), .commands = REPORT | 1 << COMMAND_WAITS},
    {"otlp", "URL|FILE",
     "send OpenTelemetry spans to a collector, or write the requests to a file to be sent later; "
     "with any of these three, nothing is printed unless --json or --csv is given",
     OPTION_IS_TEXT(struct options, otlp), .commands = REPORT},
    {"metrics", "FILE",
     "write metrics for Prometheus, as node_exporter's textfile collector reads them",
     OPTION_IS_TEXT(struct options, metrics), .commands = REPORT},
    {"listen", "[ADDRESS:]PORT",
     "with --follow: serve these metrics at http://127.0.0.1:PORT/metrics",
     OPTION_IS_TEXT(struct options, listen), .commands = REPORT},
    {"follow", .help = "keep reading the last file as it grows",
     OPTION_IS_FLAG(struct options, follow), .commands = REPORT},
    {"jobs", "N", "read with N threads (default: one for each core, at most four)",
     OPTION_IS_NUMBER(struct options, jobs, 1, DECODER_MOST_JOBS), .commands = READERS},
    {"causes", .help = "say which delivery caused which, and how long each waited",
     OPTION_IS_FLAG(struct options, causes), .commands = REPORT | 1 << COMMAND_SUMMARY},
    {"gas", "MODEL",
     "price each delivery by this gas model, a JSON file with the weights computron, instruction, "
     "syscall, byteRead, byteWritten and blockCost",
     OPTION_IS_OTHER(struct options, gas, take_gas), .given = offsetof(struct options, priced),
     .commands = REPORT | 1 << COMMAND_SUMMARY | 1 << COMMAND_ROWS},
    {"out", "DIR", "write the tables into this folder", OPTION_IS_TEXT(struct options, out),
     .commands = 1 << COMMAND_ROWS | 1 << COMMAND_MERGE},
    {"bundles", .help = "keep the bundles of vats, for gaspipe replay",
     OPTION_IS_FLAG(struct options, bundles), .commands = 1 << COMMAND_EXTRACT},
    {"strict", .help = "treat a line that is not a slog line as an error",
     OPTION_IS_FLAG(struct options, strict), .commands = READERS},

    {"Selecting (RANGE is 5, 5-9, 5- or -9; --vat and --kind may be repeated)",
     .kind = OPTION_HEADING},
    {"vat", "ID|NAME", "deliveries to this vat", OPTION_IS_LIST(struct options, selection.vats),
     .commands = READERS | PROFILE},
    {"kind", "KIND|METHOD", "of this kind (message, notify, ...) or method",
     OPTION_IS_LIST(struct options, selection.kinds), .commands = READERS | PROFILE},
    {"crank", "RANGE", "in these cranks",
     OPTION_IS_OTHER(struct options, selection.cranks, selection_take_range),
     .commands = READERS | PROFILE},
    {"block", "RANGE", "in these blocks", SELECTION_RANGE(blocks)},
    {"run", "RANGE", "in these runs of the kernel, from 1", SELECTION_RANGE(runs)},
    {"since", "TIME", "from this time on: 1795219394.5 or 2026-11-21T00:03:14Z",
     OPTION_IS_OTHER(struct options, selection.times, selection_take_since), .commands = READERS},
    {"until", "TIME", "up to this time",
     OPTION_IS_OTHER(struct options, selection.times, selection_take_until), .commands = READERS},
    {"min-duration", "TIME",
     "that took at least 0.5, 20ms or 300us; for stalls, the least time lost (1ms)",
     OPTION_IS_OTHER(struct options, selection.minimum, selection_take_duration),
     .commands = READERS},

    {"Each delivery", .kind = OPTION_HEADING},
    {"sort", "COLUMN",
     "in descending order: total, pipe, worker, kernel, unattributed, between, compute, "
     "instructions, blockCost, gasBurnt, gas, syscalls, consoles, start, crank, delivery, block, "
     "replay, "
     "overrun, "
     "queued; in ascending order: vat, name, kind, method, description, status",
     OPTION_IS_OTHER(struct options, sort, take_sort), .commands = REPORT},
    {"reverse", .help = "reverse the order", OPTION_IS_FLAG(struct options, reverse),
     .commands = REPORT},
    {"top", "N",
     "only the first N, by total if --sort is not given; for compare, stalls, runs and profile, "
     "how "
     "many to list (20)",
     OPTION_IS_NUMBER(struct options, top, 1, SIZE_MAX), .commands = LISTS | PROFILE},

    {"Sums", .kind = OPTION_HEADING},
    {"by", "GROUPS",
     "of all, replay, vat, kind, method, syscall, block, run, phase, growth (default: all but "
     "block and run); of a profile: function (default), line, vat, method or delivery",
     .kind = OPTION_OTHER, .take = take_by, .commands = SUMS | PROFILE, .words = by_words},
    {"histograms", "FILE", "write what `slogreport merge` can combine",
     OPTION_IS_TEXT(struct options, histograms), .commands = SUMS},

    {"Profiles", .kind = OPTION_HEADING},
    {"against", "FILE", "what changed since this profile", OPTION_IS_TEXT(struct options, against),
     .commands = PROFILE},
    {"folded", .help = "print the sums of folded stacks; with --against before and now",
     OPTION_IS_FLAG(struct options, folded), .commands = PROFILE},
    {"flame", "FILE", "draw a flame graph of folded stacks, SVG; with --against the difference",
     OPTION_IS_TEXT(struct options, flame), .commands = PROFILE},

    {"Help", .kind = OPTION_HEADING},
};

const struct option_table options_table = {
    .program = "slogreport",
    .usage =
        "usage: slogreport [options] FILE|- ...            each delivery\n"
        "       slogreport summary [options] FILE|- ...    sums and percentiles\n"
        "       slogreport merge [options] HISTOGRAMS ...  sums of --histograms files\n"
        "       slogreport merge --out DIR FOLDER ...      the tables of rows, as one\n"
        "       slogreport compare [options] A B ...       the same deliveries in several files\n"
        "       slogreport stalls [options] FILE|- ...     what took longer than its like\n"
        "       slogreport runs [options] FILE|- ...       what one thing from outside caused\n"
        "       slogreport waits [options] FILE|- ...      who waited for whom in the queue\n"
        "       slogreport extract [options] FILE|- ...    a smaller slogfile\n"
        "       slogreport rows --out DIR FILE|- ...       tables for databases\n"
        "       slogreport profile [options] PROFILE ...   sums of gaspipe's profiles\n"
        "       slogreport --completion bash               a completion script\n"
        "\n"
        "Shows where the time of deliveries in slogfiles, SwingSet's or gaspipe's, went: the "
        "pipe, the worker or the kernel. Files may be plain, gzip or Zstandard; several are "
        "read as one sequence, in the order in which they begin.",
    .ending =
        "Exit status: 0 success, 1 compare found a divergence, 2 usage, 3 bad input, 4 system "
        "failure.\n"
        "See slogreport(1).",
    .rows = rows,
    .row_count = sizeof rows / sizeof *rows,
};

/* As many as there are cores, but no more than the model can keep up with. */
static unsigned usual_jobs(void)
{
    enum { ENOUGH = 4 };
    long cores = sysconf(_SC_NPROCESSORS_ONLN);

    return cores < 1 ? 1 : cores < ENOUGH ? (unsigned)cores : ENOUGH;
}

/* The command of this name; COMMAND_COUNT: there is none. */
static enum command find_command(const char *name)
{
    int command = 0;

    while (command < COMMAND_COUNT &&
           (command_names[command] == NULL || strcmp(name, command_names[command]) != 0))
        command++;
    return (enum command)command;
}

/* A command behind options would be taken for a file. */
static int check_files(const struct options *options, struct error *error)
{
    for (char *const *file = options->files; *file != NULL; file++) {
        if (options->command == COMMAND_REPORT && find_command(*file) != COMMAND_COUNT)
            return error_set(error, ERROR_USAGE,
                             "%s comes before all options, slogreport %s [options] FILE; "
                             "a file of that name is ./%s",
                             *file, *file, *file);
    }
    return 0;
}

/* What does not go together. */
static int check(struct options *options, struct error *error)
{
    bool sorted = options->sort != NULL || options->top > 0;

    if (options->files[0] == NULL)
        return error_set(error, ERROR_USAGE, "no file named; give a path, or - for standard input");
    if (check_files(options, error) != 0)
        return -1;
    if (options->command == COMMAND_COMPARE && options->files[1] == NULL)
        return error_set(error, ERROR_USAGE, "compare takes two slogfiles or more");
    if (options->command == COMMAND_ROWS && options->out == NULL)
        return error_set(error, ERROR_USAGE, "rows needs --out DIR, the folder for the tables");
    if (options->command == COMMAND_MERGE && options->out != NULL &&
        (options->json || options->csv || options->histograms != NULL))
        return error_set(
            error, ERROR_USAGE,
            "merge --out joins tables, and has neither --json, --csv nor --histograms");
    if (options->json && options->folded)
        return error_set(error, ERROR_USAGE, "--json and --folded exclude each other");
    if (options->json && options->csv)
        return error_set(error, ERROR_USAGE, "--json and --csv exclude each other");
    if (options->follow && sorted)
        return error_set(error, ERROR_USAGE,
                         "--follow has no end, so it goes with neither --sort nor --top");
    if (options->follow && options->html != NULL)
        return error_set(error, ERROR_USAGE,
                         "--follow has no end, and --html is written at the end");
    if (options->profiles.count > 0 && options->html == NULL && options->trace == NULL &&
        options->command == COMMAND_REPORT)
        return error_set(error, ERROR_USAGE, "--profile needs --html FILE or --trace FILE");
    if (options->listen != NULL && !options->follow)
        return error_set(error, ERROR_USAGE, "--listen needs --follow");
    if (options->reverse && !sorted)
        return error_set(error, ERROR_USAGE, "--reverse goes with --sort or --top");
    if (outputs_check(options, error) != 0)
        return -1;
    if (options->sort == NULL && sorted && options->command == COMMAND_REPORT)
        options->sort = rank_find_column("total");
    options->causes |= options->sort != NULL && strcmp(options->sort->name, "queued") == 0;
    return 0;
}

/* A command's name comes first; a file of such a name is ./summary. */
static enum command take_command(int argc, char **argv)
{
    enum command command = argc > 1 ? find_command(argv[1]) : COMMAND_COUNT;

    return command != COMMAND_COUNT ? command : COMMAND_REPORT;
}

enum option_result options_parse(int argc, char **argv, struct options *options,
                                 struct error *error)
{
    struct option_table table = options_table;
    enum option_result result;
    int named;

    *options = (struct options){.command = take_command(argc, argv), .jobs = usual_jobs()};
    for (int kind = 0; kind < GROUP_KINDS; kind++)
        options->by[kind] = kind != GROUP_BLOCK && kind != GROUP_RUN;
    named = options->command != COMMAND_REPORT;
    table.command_bit = 1U << options->command;
    table.command_title = named ? command_names[options->command] : "the report of each delivery";
    result = option_parse(&table, argc - named, argv + named, options, &options->files, error);
    if (result == OPTION_TAKEN && check(options, error) != 0)
        return OPTION_FAILED;
    return result;
}

int options_complete(int argc, char **argv)
{
    struct option_command completed[COMMAND_COUNT + 1] = {0};

    for (int command = 0; command < COMMAND_COUNT; command++)
        completed[command] =
            (struct option_command){command_names[command], &options_table, 1U << command};
    return option_complete_command(options_table.program, completed, argc, argv);
}

void options_free(struct options *options)
{
    option_list_free(&options->profiles);
    selection_free(&options->selection);
}
