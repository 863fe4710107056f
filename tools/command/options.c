/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/command/options.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/number.h"
#include "base/option/option_complete.h"
#include "base/output/output_file.h"
#include "slog/read/decoder.h"
#include "tools/otlp/otlp_batch.h"
#include "tools/output/output.h"

enum { OUTPUTS = 6 };

/* Standard input can be examined under this name. */
static const char *input_path(const char *file)
{
    return strcmp(file, "-") == 0 ? "/dev/stdin" : file;
}

static int check_output_path(const struct output_wanted *output, char *const *files,
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
        if (outputs[i].path != NULL && check_output_path(&outputs[i], files, error) != 0)
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

/* A collector without its scheme would become a file. */
static int check_collector(const char *where, struct error *error)
{
    const char *port = strrchr(where, ':');

    if (otlp_batch_is_url(where))
        return 0;
    if (strstr(where, "://") != NULL)
        return error_set(error, ERROR_USAGE,
                         "--otlp %s: a collector is http://HOST:PORT or https://HOST:PORT", where);
    if (port != NULL && port[1] != '\0' && port[1 + strspn(port + 1, "0123456789")] == '\0' &&
        strchr(where, '/') == NULL)
        return error_set(error, ERROR_USAGE,
                         "--otlp %s: a collector is http://%s; a file of that name is ./%s", where,
                         where, where);
    return 0;
}

/*
 * Fails with ERROR_USAGE if an output (a file of an option, or standard output) is also an input
 * or another output.
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

    if (options->otlp != NULL && check_collector(options->otlp, error) != 0)
        return -1;
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

/* Sets of commands, as bits by enum command. */
enum {
    REPORT = 1 << COMMAND_REPORT,
    SUMS = 1 << COMMAND_SUMMARY | 1 << COMMAND_MERGE,
    LISTS = REPORT | 1 << COMMAND_COMPARE | 1 << COMMAND_STALLS | 1 << COMMAND_RUNS |
            1 << COMMAND_WAITS,
    READERS = LISTS | 1 << COMMAND_SUMMARY | 1 << COMMAND_EXTRACT | 1 << COMMAND_ROWS,
    REPORTERS = READERS & ~(1 << COMMAND_EXTRACT),
    PROFILE = 1 << COMMAND_PROFILE,
    PRINTERS = LISTS | SUMS | PROFILE,
};

static int take_sort(void *place, const char *option, char *value, struct error *error)
{
    const struct rank_column **column = place;
    struct similar similar = {.word = value};
    struct buf names = {0};

    *column = rank_find_column(value);
    if (*column != NULL)
        return 0;
    rank_column_names(&names, &similar);
    error_set(error, ERROR_USAGE, "%s %s: no such column; there are %s%s", option, value,
              buf_string(&names), similar_hint(&similar, ""));
    buf_free(&names);
    return -1;
}

static const char *const by_words[] = {"all",      "replay", "vat",      "kind",  "method",
                                       "syscall",  "block",  "run",      "phase", "growth",
                                       "function", "line",   "delivery", NULL};

static const char *const stamps_words[] = {"slog", "client", NULL};

static int take_cost_by(struct options *options, const char *option, const char *value,
                        struct error *error)
{
    struct similar similar = {.word = value};

    for (int i = 0; cost_by_names[i] != NULL; i++) {
        if (strcmp(value, cost_by_names[i]) == 0) {
            options->cost_by = (enum cost_by)i;
            return 0;
        }
        similar_try(&similar, cost_by_names[i]);
    }
    return error_set(error, ERROR_USAGE,
                     "%s of a profile is function, line, vat, method or delivery, not '%s'%s",
                     option, value, similar_hint(&similar, ""));
}

/* Parses an interval such as 10s; without a unit it is none. False: it is another word. */
static bool take_interval(const char *word, size_t length, int64_t *interval)
{
    static const struct {
        const char *unit;
        int64_t nanoseconds;
    } units[] = {{"ms", 1000000}, {"s", 1000000000}, {"m", 60000000000}, {"h", 3600000000000}};
    const char *at = word;
    uint64_t number;

    if (*word < '1' || *word > '9' || !number_take(&at, &number) || number > 1000000)
        return false;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        const size_t unit_length = strlen(units[i].unit);

        if (word + length == at + unit_length && strncmp(at, units[i].unit, unit_length) == 0) {
            *interval = (int64_t)number * units[i].nanoseconds;
            return true;
        }
    }
    return false;
}

static int refuse_group(const char *option, char *word, size_t length, struct error *error)
{
    struct similar similar = {.word = word};

    word[length] = '\0';
    for (int kind = 0; kind < GROUP_KINDS; kind++)
        similar_try(&similar, group_kind_name((enum group_kind)kind));
    return error_set(error, ERROR_USAGE,
                     "%s is all, replay, vat, kind, method, syscall, block, run, phase or growth, "
                     "or several with commas between, or an interval such as 10s or 1m, not '%s'%s",
                     option, word, similar_hint(&similar, ""));
}

/* Parses words separated by commas. */
static int take_by(void *place, const char *option, char *value, struct error *error)
{
    struct options *options = place;
    bool *by = options->by;
    char *word = value;

    if (options->command == COMMAND_PROFILE)
        return take_cost_by(options, option, value, error);
    memset(by, 0, sizeof options->by);
    options->interval = 0;
    for (;;) {
        size_t length = strcspn(word, ",");
        int kind = 0;

        while (kind < GROUP_KINDS &&
               (strlen(group_kind_name((enum group_kind)kind)) != length ||
                strncmp(word, group_kind_name((enum group_kind)kind), length) != 0))
            kind++;
        if (kind < GROUP_KINDS)
            by[kind] = true;
        else if (!take_interval(word, length, &options->interval))
            return refuse_group(option, word, length, error);
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
    {"Selection (RANGE is 5, 5-9, 5- or -9)", .kind = OPTION_HEADING},

    {"vat", "ID|NAME", "select deliveries to this vat (may be repeated)",
     OPTION_IS_LIST(struct options, selection.vats), .commands = READERS | PROFILE},
    {"kind", "KIND|METHOD",
     "select deliveries of this kind (message, notify, ...) or method (may be repeated)",
     OPTION_IS_LIST(struct options, selection.kinds), .commands = REPORTERS | PROFILE},
    {"crank", "RANGE", "select deliveries in these cranks",
     OPTION_IS_OTHER(struct options, selection.cranks, selection_take_range),
     .commands = READERS | PROFILE},
    {"block", "RANGE", "select deliveries in these blocks of a chain", SELECTION_RANGE(blocks)},
    {"run", "RANGE", "select deliveries in these runs of the kernel, counted from 1",
     OPTION_IS_OTHER(struct options, selection.runs, selection_take_range), .commands = REPORTERS},
    {"since", "TIME",
     "select deliveries that began at TIME or later: 1795219394.5 or 2026-11-21T00:03:14Z",
     OPTION_IS_OTHER(struct options, selection.times, selection_take_since), .commands = READERS},
    {"until", "TIME", "select deliveries that began at TIME or earlier",
     OPTION_IS_OTHER(struct options, selection.times, selection_take_until), .commands = READERS},
    {"min-duration", "TIME",
     "select deliveries that took at least 0.5, 0.5s, 20ms or 300us; of stalls: the least time "
     "lost (default: 1ms)",
     OPTION_IS_OTHER(struct options, selection.minimum, selection_take_duration),
     .commands = REPORTERS},
    {"strict", .help = "fail at a line that is not a slog line (default: skip and count it)",
     OPTION_IS_FLAG(struct options, strict), .commands = READERS},
    {"stamps", "WHOSE",
     "end the pipe's time in Node's process at the lines of the slog (default) or, where its "
     "worker's client noted them, at the frames: slog or client",
     OPTION_IS_CHOICE(struct options, stamps, stamps_words), .commands = REPORTERS},
    {"jobs", "N", "read with N threads, up to 64 (default: one per CPU, at most 4)",
     OPTION_IS_NUMBER(struct options, jobs, 1, DECODER_MOST_JOBS), .commands = READERS},

    {"Order", .kind = OPTION_HEADING},

    {"sort", "COLUMN",
     "print one row per delivery, sorted by total, pipe, worker, kernel, unattributed, cpuWait, "
     "workerCpuWait, between, compute, instructions, "
     "blockCost, gasBurnt, gas, syscalls, consoles, start, crank, delivery, block, replay, "
     "overrun or queued, descending; or by vat, name, kind, method, description or status, "
     "ascending",
     OPTION_IS_OTHER(struct options, sort, take_sort), .commands = REPORT},
    {"reverse", .help = "reverse the order; requires --sort or --top",
     OPTION_IS_FLAG(struct options, reverse), .commands = REPORT},
    {"top", "N", "print only the first N, one row per delivery (default: 20; of deliveries: all)",
     OPTION_IS_NUMBER(struct options, top, 1, SIZE_MAX), .commands = LISTS | PROFILE},

    {"detail", .help = "list each delivery after the rows; requires --sort or --top",
     OPTION_IS_FLAG(struct options, detail), .commands = REPORT},

    {"Contents", .kind = OPTION_HEADING},

    {"by", "GROUPS",
     "print tables of these groups, separated by commas: all, replay, vat, kind, method, syscall, "
     "block, run, phase, growth (default of merge, --json and --csv: all of them but block and "
     "run); 10s, 1m, ...: a row for each interval; of a profile one of function, line, vat, "
     "method, delivery (default: function)",
     .kind = OPTION_OTHER, .take = take_by, .given = offsetof(struct options, by_given),
     .commands = SUMS | PROFILE, .words = by_words},
    {"causes", .help = "print which delivery caused which, and how long each waited",
     OPTION_IS_FLAG(struct options, causes), .commands = REPORT | 1 << COMMAND_SUMMARY},
    {"gas", "MODEL",
     "price each delivery by this gas model: a JSON file with the weights computron, instruction, "
     "syscall, byteRead, byteWritten and blockCost",
     OPTION_IS_OTHER(struct options, gas, take_gas), .given = offsetof(struct options, priced),
     .commands = REPORT | 1 << COMMAND_SUMMARY | 1 << COMMAND_ROWS},
    {"profile", "FILE",
     "add the functions of a profile of gaspipe run, replay or trace (may be repeated); the "
     "report requires --html or --trace",
     OPTION_IS_LIST(struct options, profiles), .commands = REPORT | 1 << COMMAND_WAITS},
    {"against", "FILE|SELECTION",
     "print what changed since this profile, or since this slogfile or these deliveries: "
     "crank=1-99, block=17, until=TIME, first-half, ...",
     OPTION_IS_TEXT(struct options, against), .commands = PROFILE | 1 << COMMAND_SUMMARY},
    {"bundles", .help = "keep the bundles of vats, which gaspipe replay needs",
     OPTION_IS_FLAG(struct options, bundles), .commands = 1 << COMMAND_EXTRACT},

    {"Output", .kind = OPTION_HEADING},

    {"json", .help = "print JSON lines", OPTION_IS_FLAG(struct options, json),
     .commands = PRINTERS},
    {"csv", .help = "print comma-separated values", OPTION_IS_FLAG(struct options, csv),
     .commands = REPORT | SUMS},
    {"folded", .help = "print folded stacks; with --against: before and now",
     OPTION_IS_FLAG(struct options, folded), .commands = PROFILE},
    {"flame", "FILE", "draw a flame graph, SVG; with --against: of the difference",
     OPTION_IS_TEXT(struct options, flame), .commands = PROFILE},
    {"trace", "FILE",
     "write a trace for Perfetto or speedscope; print nothing without --json or --csv",
     OPTION_IS_TEXT(struct options, trace), .commands = REPORT},
    {"html", "FILE", "write a page for a browser; print nothing without --json or --csv",
     OPTION_IS_TEXT(struct options, html), .commands = REPORT},
    {"otlp", "URL|FILE",
     "send OpenTelemetry spans to a collector, or write the requests to FILE; print nothing "
     "without "
     "--json or --csv",
     OPTION_IS_TEXT(struct options, otlp), .commands = REPORT},
    {"histograms", "FILE", "write histograms that slogreport merge combines",
     OPTION_IS_TEXT(struct options, histograms), .commands = SUMS},
    {"out", "DIR", "write the tables into DIR, which is created if absent",
     OPTION_IS_TEXT(struct options, out), .commands = 1 << COMMAND_ROWS | 1 << COMMAND_MERGE},
    {"metrics", "FILE",
     "write metrics for Prometheus, as node_exporter's textfile collector reads them",
     OPTION_IS_TEXT(struct options, metrics), .commands = REPORT},
    {"listen", "[ADDRESS:]PORT",
     "serve the metrics at http://127.0.0.1:PORT/metrics; requires --follow",
     OPTION_IS_TEXT(struct options, listen), .commands = REPORT},
    {"follow", .help = "continue to read the last file as it grows",
     OPTION_IS_FLAG(struct options, follow), .commands = REPORT},
};

#define TABLE(command_, name, title, usage_text)                                                   \
    [command_] = {                                                                                 \
        .program = "slogreport",                                                                   \
        .command = (name),                                                                         \
        .usage = usage_text, /* NOLINT(bugprone-macro-parentheses) */                              \
        .ending = ENDING,                                                                          \
        .rows = rows,                                                                              \
        .row_count = sizeof rows / sizeof *rows,                                                   \
        .command_bit = 1U << (command_),                                                           \
        .command_title = (title),                                                                  \
        .commands = options_tables,                                                                \
        .command_count = COMMAND_COUNT,                                                            \
    }
#define COMMAND_TABLE(command_, name, arguments, text)                                             \
    TABLE(command_, name, name, "usage: slogreport " name " [options] " arguments "\n\n" text "\n")
#define ENDING                                                                                     \
    "Exit status: 0 success, 1 compare found a divergence, 2 usage, 3 bad input, 4 system "        \
    "failure."

const struct option_table options_tables[COMMAND_COUNT] = {
    TABLE(COMMAND_REPORT, NULL, "the report of each delivery (no command)",
          "usage: slogreport [options] FILE|- ...\n"
          "       slogreport COMMAND [options] FILE|- ...\n"
          "\n"
          "Shows where the time of deliveries in slogfiles, SwingSet's or gaspipe's, went: the "
          "pipe, the worker or the kernel. Files may be plain, gzip or Zstandard; several are "
          "read as one sequence, in the order in which they begin.\n"
          "\n"
          "Without a command it lists each delivery with its syscalls. Commands:\n"
          "  summary   print on one screen where the time went, or tables by vat, method, ...\n"
          "  merge     combine histograms of summary, or tables of rows\n"
          "  compare   compare the same deliveries in several files\n"
          "  stalls    list spans that took far longer than similar ones\n"
          "  runs      list what one event from outside caused\n"
          "  waits     show which deliveries waited in the queue, and for which\n"
          "  extract   print a smaller slogfile\n"
          "  rows      write tables for databases\n"
          "  profile   add up profiles of gaspipe\n"
          "  help      open the manual page, or that of a command\n"
          "slogreport COMMAND --help lists the options of a command.\n"),
    COMMAND_TABLE(COMMAND_SUMMARY, "summary", "FILE|- ...",
                  "Prints where the time went, the slowest deliveries, vats and stalls; with --by "
                  "count, sum, share, median, 90th and 99th percentile and maximum of what "
                  "deliveries took, by groups."),
    COMMAND_TABLE(COMMAND_MERGE, "merge",
                  "HISTOGRAMS ...\n       slogreport merge --out DIR DIR ...",
                  "Combines files of summary --histograms into one summary, or with --out the "
                  "tables of slogreport rows."),
    COMMAND_TABLE(COMMAND_COMPARE, "compare", "A B ...",
                  "Compares the deliveries of several slogfiles: outcomes, costs and times."),
    COMMAND_TABLE(COMMAND_STALLS, "stalls", "FILE|- ...",
                  "Lists the spans of time that took far longer than similar ones, with the "
                  "largest loss first."),
    COMMAND_TABLE(COMMAND_RUNS, "runs", "FILE|- ...",
                  "Lists the runs that took longest: all deliveries that follow from one event "
                  "from outside."),
    COMMAND_TABLE(COMMAND_EXTRACT, "extract", "FILE|- ...",
                  "Prints the slog lines of the selected deliveries."),
    COMMAND_TABLE(COMMAND_ROWS, "rows", "--out DIR FILE|- ...",
                  "Writes a table of deliveries and a table of syscalls, as CSV."),
    COMMAND_TABLE(COMMAND_PROFILE, "profile", "PROFILE ...",
                  "Adds up profiles of gaspipe run, replay and trace, by function or other "
                  "groups."),
    COMMAND_TABLE(COMMAND_WAITS, "waits", "FILE|- ...",
                  "Shows how long deliveries waited in the queue and which deliveries ran "
                  "meanwhile."),
};

/* One for each core, but no more than the model can keep busy. */
static unsigned usual_jobs(void)
{
    enum { ENOUGH = 4 };
    long cores = sysconf(_SC_NPROCESSORS_ONLN);

    return cores < 1 ? 1 : cores < ENOUGH ? (unsigned)cores : ENOUGH;
}

enum command options_command(const char *name)
{
    int command = 0;

    while (command < COMMAND_COUNT && (options_tables[command].command == NULL ||
                                       strcmp(name, options_tables[command].command) != 0))
        command++;
    return (enum command)command;
}

const char *options_command_hint(struct similar *similar)
{
    for (int command = 0; command < COMMAND_COUNT; command++)
        if (options_tables[command].command != NULL)
            similar_try(similar, options_tables[command].command);
    return similar_hint(similar, "");
}

/* The first file may be a command with a mistake in its name. */
static int check_misspelt_command(const struct options *options, struct error *error)
{
    struct similar similar = {.word = options->files[0]};
    const char *hint = options_command_hint(&similar);

    if (options->command != COMMAND_REPORT || hint[0] == '\0' || access(similar.word, F_OK) == 0)
        return 0;
    return error_set(error, ERROR_USAGE, "no file or command '%s'%s", similar.word, hint);
}

/* Otherwise a command after options would be taken for a file. */
static int check_file_names(const struct options *options, struct error *error)
{
    for (char *const *file = options->files; *file != NULL; file++) {
        if (options->command == COMMAND_REPORT && options_command(*file) != COMMAND_COUNT)
            return error_set(error, ERROR_USAGE,
                             "%s comes before all options, slogreport %s [options] FILE; "
                             "a file of that name is ./%s",
                             *file, *file, *file);
    }
    return check_misspelt_command(options, error);
}

/* Refuses options that exclude each other. */
static bool has_groups_too(const struct options *options)
{
    for (int kind = 0; kind < GROUP_KINDS; kind++)
        if (options->by[kind])
            return true;
    return false;
}

static bool are_vat_ids(const struct option_list *vats)
{
    for (size_t i = 0; i < vats->count; i++) {
        const char *item = vats->items[i];

        if (item[0] != 'v' || item[1] == '\0' || item[1 + strspn(item + 1, "0123456789")] != '\0')
            return false;
    }
    return true;
}

static int check_together(struct options *options, struct error *error)
{
    bool sorted = options->sort != NULL || options->top > 0;

    if (options->files[0] == NULL)
        return error_set(error, ERROR_USAGE, "no file named; give a path, or - for standard input");
    if (check_file_names(options, error) != 0)
        return -1;
    if (options->command == COMMAND_COMPARE && options->files[1] == NULL)
        return error_set(error, ERROR_USAGE, "compare takes two slogfiles or more");
    if (options->command == COMMAND_ROWS && options->out == NULL)
        return error_set(error, ERROR_USAGE, "rows needs --out DIR, the directory for the tables");
    if (options->command == COMMAND_MERGE && options->out != NULL &&
        (options->json || options->csv || options->histograms != NULL))
        return error_set(
            error, ERROR_USAGE,
            "merge --out joins tables, and has neither --json, --csv nor --histograms");
    if (options->by_given && options->by[GROUP_PHASE] && options->command == COMMAND_SUMMARY &&
        (options->selection.kinds.count > 0 || options->selection.cranks.set))
        return error_set(error, ERROR_USAGE,
                         "--by phase goes with neither --kind nor --crank: a phase has none");
    if (options->by_given && options->by[GROUP_PHASE] && options->command == COMMAND_SUMMARY &&
        !are_vat_ids(&options->selection.vats))
        return error_set(error, ERROR_USAGE,
                         "--by phase takes vats by ID, such as --vat v4: phases have no names");
    if (options->interval > 0 && options->command == COMMAND_MERGE)
        return error_set(error, ERROR_USAGE,
                         "merge has no intervals: histograms do not say when deliveries ran");
    if (options->interval > 0 && options->csv && has_groups_too(options))
        return error_set(error, ERROR_USAGE,
                         "--csv prints one table: --by an interval goes with no other group");
    if (options->against != NULL && options->command == COMMAND_SUMMARY &&
        (options->csv || options->interval > 0 || options->histograms != NULL))
        return error_set(error, ERROR_USAGE,
                         "--against goes with neither --csv, --histograms nor --by an interval");
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
    if (options->detail && (!sorted || options->json || options->csv))
        return error_set(error, ERROR_USAGE,
                         "--detail goes with --sort or --top, and with neither --json nor --csv");
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
    enum command command = argc > 1 ? options_command(argv[1]) : COMMAND_COUNT;

    return command != COMMAND_COUNT ? command : COMMAND_REPORT;
}

enum option_result options_parse(int argc, char **argv, struct options *options,
                                 struct error *error)
{
    enum option_result result;
    int named;

    *options = (struct options){.command = take_command(argc, argv), .jobs = usual_jobs()};
    for (int kind = 0; kind < GROUP_KINDS; kind++)
        options->by[kind] = kind != GROUP_BLOCK && kind != GROUP_RUN;
    named = options->command != COMMAND_REPORT;
    result = option_parse(&options_tables[options->command], argc - named, argv + named, options,
                          &options->files, error);
    if (result == OPTION_TAKEN &&
        (check_together(options, error) != 0 || selection_begin(&options->selection, error) != 0))
        return OPTION_FAILED;
    return result;
}

int options_complete(int argc, char **argv)
{
    struct option_command completed[COMMAND_COUNT + 2] = {0};

    for (int command = 0; command < COMMAND_COUNT; command++)
        completed[command] = (struct option_command){.name = options_tables[command].command,
                                                     .table = &options_tables[command]};
    completed[COMMAND_COUNT].name = "help";
    return option_complete_command("slogreport", completed, argc, argv);
}

void options_free(struct options *options)
{
    option_list_free(&options->profiles);
    selection_free(&options->selection);
}
