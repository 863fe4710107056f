/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/command/options.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/number.h"
#include "slog/read/decoder.h"
#include "tools/command/outputs.h"

const char options_help[] =
    "usage: slogreport [options] FILE|- ...             each delivery\n"
    "       slogreport summary [options] FILE|- ...     sums and percentiles\n"
    "       slogreport merge [options] HISTOGRAMS ...   the same, from --histograms files\n"
    "       slogreport compare [options] A B            the same deliveries side by side\n"
    "       slogreport stalls [options] FILE|- ...      what took longer than its like\n"
    "\n"
    "Shows where the time of deliveries in slogfiles, SwingSet's or gaspipe's, went: the\n"
    "pipe, the worker or the kernel. Files may be plain, gzip or Zstandard; several are\n"
    "read as one sequence, in the order in which they begin.\n"
    "\n"
    "Output:\n"
    "  --json              JSON lines\n"
    "  --csv               comma-separated values\n"
    "  --trace FILE        write a trace for Perfetto or speedscope\n"
    "  --html FILE         write a page for a browser: sums, timeline, stalls\n"
    "  --otlp URL|FILE     send OpenTelemetry spans to a collector, or write the requests\n"
    "                      to a file to be sent later; with any of these three, nothing\n"
    "                      is printed unless --json or --csv is given\n"
    "  --follow            keep reading the last file as it grows\n"
    "  --jobs N            read with N threads (default: one for each core, at most four)\n"
    "  --strict            treat a line that is not a slog line as an error\n"
    "\n"
    "Selecting (RANGE is 5, 5-9, 5- or -9; --vat and --kind may be repeated):\n"
    "  --vat ID|NAME       deliveries to this vat\n"
    "  --kind KIND|METHOD  of this kind (message, notify, ...) or method\n"
    "  --crank RANGE       --block RANGE\n"
    "  --run RANGE         deliveries in these runs of the kernel, from 1\n"
    "  --since TIME        --until TIME    1795219394.5 or 2026-11-21T00:03:14Z\n"
    "  --min-duration TIME                 0.5, 20ms, 300us; for stalls, the least time\n"
    "                      lost (1ms)\n"
    "\n"
    "Each delivery:\n"
    "  --sort COLUMN       in descending order: total, pipe, worker, kernel,\n"
    "                      unattributed, between, compute, instructions, syscalls,\n"
    "                      consoles, start, crank, delivery, block, replay, overrun;\n"
    "                      in ascending order: vat, name, kind, method, description, status\n"
    "  --reverse           reverse the order\n"
    "  --top N             only the first N, by total if --sort is not given; for compare\n"
    "                      and stalls, how many to list (20)\n"
    "\n"
    "Sums:\n"
    "  --by GROUPS         of all, replay, vat, kind, method, syscall, block, run\n"
    "                      (default: all but block and run)\n"
    "  --histograms FILE   write what `slogreport merge` can combine\n"
    "\n"
    "  --help  --version\n"
    "\n"
    "Exit status: 0 success, 1 compare found a divergence, 2 usage, 3 bad input,\n"
    "4 system failure.\n"
    "See slogreport(1).\n";

static const char *const command_names[COMMAND_COUNT] = {
    [COMMAND_SUMMARY] = "summary",
    [COMMAND_MERGE] = "merge",
    [COMMAND_COMPARE] = "compare",
    [COMMAND_STALLS] = "stalls",
};

enum option_id {
    OPTION_JSON = 256,
    OPTION_CSV,
    OPTION_TRACE,
    OPTION_HTML,
    OPTION_JOBS,
    OPTION_OTLP,
    OPTION_STRICT,
    OPTION_FOLLOW,
    OPTION_VAT,
    OPTION_KIND,
    OPTION_CRANK,
    OPTION_BLOCK,
    OPTION_RUN,
    OPTION_SINCE,
    OPTION_UNTIL,
    OPTION_MIN_DURATION,
    OPTION_SORT,
    OPTION_REVERSE,
    OPTION_TOP,
    OPTION_BY,
    OPTION_HISTOGRAMS,
    OPTION_HELP,
    OPTION_VERSION,
};

static const struct option long_options[] = {
    {"json", no_argument, NULL, OPTION_JSON},
    {"csv", no_argument, NULL, OPTION_CSV},
    {"jobs", required_argument, NULL, OPTION_JOBS},
    {"trace", required_argument, NULL, OPTION_TRACE},
    {"html", required_argument, NULL, OPTION_HTML},
    {"otlp", required_argument, NULL, OPTION_OTLP},
    {"strict", no_argument, NULL, OPTION_STRICT},
    {"follow", no_argument, NULL, OPTION_FOLLOW},
    {"vat", required_argument, NULL, OPTION_VAT},
    {"kind", required_argument, NULL, OPTION_KIND},
    {"crank", required_argument, NULL, OPTION_CRANK},
    {"block", required_argument, NULL, OPTION_BLOCK},
    {"run", required_argument, NULL, OPTION_RUN},
    {"since", required_argument, NULL, OPTION_SINCE},
    {"until", required_argument, NULL, OPTION_UNTIL},
    {"min-duration", required_argument, NULL, OPTION_MIN_DURATION},
    {"sort", required_argument, NULL, OPTION_SORT},
    {"reverse", no_argument, NULL, OPTION_REVERSE},
    {"top", required_argument, NULL, OPTION_TOP},
    {"by", required_argument, NULL, OPTION_BY},
    {"histograms", required_argument, NULL, OPTION_HISTOGRAMS},
    {"help", no_argument, NULL, OPTION_HELP},
    {"version", no_argument, NULL, OPTION_VERSION},
    {0},
};

/* Which commands an option is for: bits by enum command. */
static unsigned commands_of(int option)
{
    enum {
        REPORT = 1 << COMMAND_REPORT,
        SUMS = 1 << COMMAND_SUMMARY | 1 << COMMAND_MERGE,
        READERS =
            1 << COMMAND_REPORT | 1 << COMMAND_SUMMARY | 1 << COMMAND_COMPARE | 1 << COMMAND_STALLS,
        ALL = (1 << COMMAND_COUNT) - 1,
    };

    switch (option) {
    case OPTION_FOLLOW:
    case OPTION_TRACE:
    case OPTION_HTML:
    case OPTION_OTLP:
    case OPTION_SORT:
    case OPTION_REVERSE:
        return REPORT;
    case OPTION_TOP:
        return REPORT | 1 << COMMAND_COMPARE | 1 << COMMAND_STALLS;
    case OPTION_CSV:
        return REPORT | SUMS;
    case OPTION_BY:
    case OPTION_HISTOGRAMS:
        return SUMS;
    case OPTION_JSON:
    case OPTION_HELP:
    case OPTION_VERSION:
        return ALL;
    default:
        return READERS;
    }
}

/* A number from 1 to `most`. */
static int take_number(const char *option, uint64_t most, size_t *number, struct error *error)
{
    uint64_t value;

    if (number_option(option, optarg, 1, most, &value, error) != 0)
        return -1;
    *number = (size_t)value;
    return 0;
}

static int take_jobs(struct options *options, struct error *error)
{
    size_t jobs;

    if (take_number("--jobs", DECODER_MOST_JOBS, &jobs, error) != 0)
        return -1;
    options->jobs = (unsigned)jobs;
    return 0;
}

/* As many as there are cores, but no more than the model can keep up with. */
static unsigned usual_jobs(void)
{
    enum { ENOUGH = 4 };
    long cores = sysconf(_SC_NPROCESSORS_ONLN);

    return cores < 1 ? 1 : cores < ENOUGH ? (unsigned)cores : ENOUGH;
}

static int take_sort(const char *name, struct options *options, struct error *error)
{
    struct buf names = {0};

    options->sort = rank_find_column(name);
    if (options->sort != NULL)
        return 0;
    rank_column_names(&names);
    error_set(error, ERROR_USAGE, "--sort %s: no such column; there are %s", name,
              buf_string(&names));
    buf_free(&names);
    return -1;
}

/* Words with commas between. */
static int take_by(const char *text, struct options *options, struct error *error)
{
    const char *word = text;

    memset(options->by, 0, sizeof options->by);
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
                "--by %s: all, replay, vat, kind, method, syscall, block and run there are", text);
        options->by[kind] = true;
        if (word[length] == '\0')
            return 0;
        word += length + 1;
    }
}

/* Options that choose deliveries. */
static int take_selection(int option, struct selection *selection, struct error *error)
{
    switch (option) {
    case OPTION_VAT:
        return selection_add_word(&selection->vats, optarg, error);
    case OPTION_KIND:
        return selection_add_word(&selection->kinds, optarg, error);
    case OPTION_CRANK:
        return selection_range(&selection->cranks, optarg, error);
    case OPTION_BLOCK:
        return selection_range(&selection->blocks, optarg, error);
    case OPTION_RUN:
        return selection_range(&selection->runs, optarg, error);
    case OPTION_SINCE:
        return selection_time(&selection->times, true, optarg, error);
    case OPTION_UNTIL:
        return selection_time(&selection->times, false, optarg, error);
    default:
        return selection_duration(&selection->minimum, optarg, error);
    }
}

static void take_flag(int option, struct options *options)
{
    options->json |= option == OPTION_JSON;
    options->csv |= option == OPTION_CSV;
    options->strict |= option == OPTION_STRICT;
    options->follow |= option == OPTION_FOLLOW;
    options->reverse |= option == OPTION_REVERSE;
    options->help |= option == OPTION_HELP;
    options->version |= option == OPTION_VERSION;
}

/* The name of an option that getopt_long() gave. */
static const char *name_of(int option)
{
    const struct option *long_option = long_options;

    while (long_option->val != option)
        long_option++;
    return long_option->name;
}

static int take_option(int option, char **argv, struct options *options, struct error *error)
{
    if (option != '?' && option != ':' && (commands_of(option) >> options->command & 1) == 0)
        return error_set(error, ERROR_USAGE, "--%s does not go with %s", name_of(option),
                         options->command == COMMAND_REPORT ? "the report of each delivery"
                                                            : command_names[options->command]);
    switch (option) {
    case '?':
        return error_set(error, ERROR_USAGE, "no such option: %s; `slogreport --help` lists them",
                         argv[optind - 1]);
    case ':':
        return error_set(error, ERROR_USAGE, "%s wants a value", argv[optind - 1]);
    case OPTION_TOP:
        return take_number("--top", SIZE_MAX, &options->top, error);
    case OPTION_JOBS:
        return take_jobs(options, error);
    case OPTION_SORT:
        return take_sort(optarg, options, error);
    case OPTION_BY:
        return take_by(optarg, options, error);
    case OPTION_HISTOGRAMS:
        options->histograms = optarg;
        return 0;
    case OPTION_TRACE:
        options->trace = optarg;
        return 0;
    case OPTION_HTML:
        options->html = optarg;
        return 0;
    case OPTION_OTLP:
        options->otlp = optarg;
        return 0;
    case OPTION_VAT:
    case OPTION_KIND:
    case OPTION_CRANK:
    case OPTION_BLOCK:
    case OPTION_RUN:
    case OPTION_SINCE:
    case OPTION_UNTIL:
    case OPTION_MIN_DURATION:
        return take_selection(option, &options->selection, error);
    default:
        take_flag(option, options);
        return 0;
    }
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
    if (options->command == COMMAND_COMPARE && (options->files[1] == NULL || options->files[2]))
        return error_set(error, ERROR_USAGE, "compare takes two slogfiles, A and B");
    if (options->json && options->csv)
        return error_set(error, ERROR_USAGE, "--json and --csv exclude each other");
    if (options->follow && sorted)
        return error_set(error, ERROR_USAGE,
                         "--follow has no end, so it goes with neither --sort nor --top");
    if (options->follow && options->html != NULL)
        return error_set(error, ERROR_USAGE,
                         "--follow has no end, and --html is written at the end");
    if (options->reverse && !sorted)
        return error_set(error, ERROR_USAGE, "--reverse goes with --sort or --top");
    if (outputs_check(options, error) != 0)
        return -1;
    if (options->sort == NULL && sorted && options->command == COMMAND_REPORT)
        options->sort = rank_find_column("total");
    return 0;
}

/* A command's name comes first; a file of such a name is ./summary. */
static enum command take_command(int argc, char **argv)
{
    enum command command = argc > 1 ? find_command(argv[1]) : COMMAND_COUNT;

    return command != COMMAND_COUNT ? command : COMMAND_REPORT;
}

int options_parse(int argc, char **argv, struct options *options, struct error *error)
{
    int option;

    *options = (struct options){.command = take_command(argc, argv), .jobs = usual_jobs()};
    for (int kind = 0; kind < GROUP_KINDS; kind++)
        options->by[kind] = kind != GROUP_BLOCK && kind != GROUP_RUN;
    optind = options->command == COMMAND_REPORT ? 1 : 2;
    opterr = 0;
    while ((option = getopt_long(argc, argv, ":", long_options, NULL)) != -1) {
        if (take_option(option, argv, options, error) != 0)
            return -1;
    }
    options->files = argv + optind;
    return options->help || options->version ? 0 : check(options, error);
}
