/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/trace/trace_options.h"

#include <string.h>

#include "supervisor/common_options.h"
#include "trace/read/trace_file.h"

enum {
    TOP_DEFAULT = 30,
    LEAF_SIZE = 128, /* bytes: they take less time than tracing them */
};

static const char *const policies[] = {"wait", "drop", NULL}; /* as enum trace_policy */

/*
 * Cuts `:N` off; N is at most TRACE_ARGUMENTS_MAX. -1 with ERROR_USAGE: there is a `:` without such
 * a number, or nothing before it.
 */
static int take_argument_number(const char *option, char *value, uint32_t *number,
                                struct error *error)
{
    char *const colon = strrchr(value, ':');

    if (colon == NULL && *value != '\0')
        return 0;
    if (colon == NULL || colon == value || strlen(colon) != 2 || colon[1] < '1' || colon[1] > '6')
        return error_set(error, ERROR_USAGE,
                         "%s needs FUNCTION or FUNCTION:N with N from 1 to 6, not '%s'", option,
                         value);
    *number = (uint32_t)(colon[1] - '0');
    *colon = '\0';
    return 0;
}

/* `count`: the most arguments of such a function. */
static int add_values(struct trace_options *options, char *function, uint32_t count,
                      struct error *error)
{
    if (options->choice.argument_count < count)
        options->choice.argument_count = count;
    return option_list_add(&options->choice.values, function, error);
}

static int take_arguments(void *place, const char *option, char *value, struct error *error)
{
    uint32_t count = 1;

    if (take_argument_number(option, value, &count, error) != 0)
        return -1;
    return add_values(place, value, count, error);
}

static int take_request(struct trace_options *options, const char *option, char *value,
                        const char **function, uint32_t *argument, struct error *error)
{
    if (take_argument_number(option, value, argument, error) != 0)
        return -1;
    *function = value;
    return add_values(options, value, *argument, error);
}

static int take_request_begin(void *place, const char *option, char *value, struct error *error)
{
    struct trace_options *const options = place;

    options->requests.begin_argument = 1;
    return take_request(options, option, value, &options->requests.begin,
                        &options->requests.begin_argument, error);
}

static int take_request_end(void *place, const char *option, char *value, struct error *error)
{
    struct trace_options *const options = place;

    options->requests.end_argument = 0;
    return take_request(options, option, value, &options->requests.end,
                        &options->requests.end_argument, error);
}

static const struct option_row rows[] = {
    {"Process", .kind = OPTION_HEADING},

    {"process", "PID", "trace this running process until it or gaspipe trace ends",
     OPTION_IS_NUMBER(struct trace_options, process, 1, INT32_MAX), .letter = 'p'},
    {"seconds", "SECS", "stop after SECS seconds; requires --process (default: 0, no limit)",
     OPTION_IS_SECONDS(struct trace_options, milliseconds, 1000000)},
    {"Functions (PATTERN as in glob(7); may be repeated)", .kind = OPTION_HEADING},

    {"functions", "PATTERN", "trace only functions with matching names",
     OPTION_IS_LIST(struct trace_options, choice.functions)},
    {"without", "PATTERN", "exclude functions with matching names",
     OPTION_IS_LIST(struct trace_options, choice.without)},
    {"source", "PATTERN",
     "trace only functions of source files with matching paths; requires debug information",
     OPTION_IS_LIST(struct trace_options, sources)},
    {"library", "PATTERN", "trace also the functions of shared libraries with matching file names",
     OPTION_IS_LIST(struct trace_options, libraries)},
    {"all",
     .help = "trace also short functions that call nothing; --functions and --source imply it",
     OPTION_IS_FLAG(struct trace_options, all)},
    {"arguments", "FUNCTION[:N]",
     "record the first N integer arguments (default: 1) and the result of these functions",
     .kind = OPTION_OTHER, .take = take_arguments},
    {"calls", .help = "trace also the program's calls of library functions",
     OPTION_IS_FLAG(struct trace_options, choice.calls)},
    {"Requests of a server", .kind = OPTION_HEADING},

    {"request-begin", "FUNCTION[:N]",
     "a request begins with this function, whose argument N identifies it (default: 1); requires "
     "--output",
     .kind = OPTION_OTHER, .take = take_request_begin},
    {"request-end", "FUNCTION[:N]",
     "it ends with the return of this function, on the same thread, or with the same argument N",
     .kind = OPTION_OTHER, .take = take_request_end},
    {"Measurement", .kind = OPTION_HEADING},

    {"clock", NULL,
     "measure time (tsc), a gaspipe-worker's computrons, CPU events in user mode, or page faults "
     "(default: tsc)",
     OPTION_IS_CHOICE(struct trace_options, clock, trace_clock_names)},
    {"when-full", NULL,
     "wait for the reader, or drop and count events, when a thread is too fast (default: wait)",
     OPTION_IS_CHOICE(struct trace_options, policy, policies)},
    {COMMON_OPTION_OVERHEAD(struct trace_options, overhead)},
    {"Output", .kind = OPTION_HEADING},

    {"top", "N", "list N functions in the report, 0: all (default: 30)",
     OPTION_IS_NUMBER(struct trace_options, top, 0, TRACE_FUNCTIONS_MAX)},
    {"report", "FILE", "write the report to FILE (default: stderr)",
     OPTION_IS_TEXT(struct trace_options, report)},
    {"output", "FILE", "write the trace itself, for --read",
     OPTION_IS_TEXT(struct trace_options, output)},
    {"read", "FILE",
     "report on this trace, of --output or of gaspipe run --trace-functions; run nothing",
     OPTION_IS_TEXT(struct trace_options, read)},
    {"text", .help = "print the calls in order on stdout, with their times; requires --read",
     OPTION_IS_FLAG(struct trace_options, text)},
    {"folded", "FILE", "write folded stacks, for flame graphs",
     OPTION_IS_TEXT(struct trace_options, folded)},
    {"callgrind", "FILE", "write a callgrind file, for kcachegrind",
     OPTION_IS_TEXT(struct trace_options, callgrind)},
    {"perfetto", "FILE", "write a trace for Perfetto; requires --read",
     OPTION_IS_TEXT(struct trace_options, perfetto)},
    {"slog", "FILE", "write requests as a slogfile, for slogreport; requires --read",
     OPTION_IS_TEXT(struct trace_options, slog)},
    {"profile", "FILE", "write each delivery's time by function, for slogreport; requires --read",
     OPTION_IS_TEXT(struct trace_options, profile)},
    {COMMON_OPTION_JSON(struct trace_options, json)},
};

const struct option_table trace_options_table = {
    .program = "gaspipe",
    .command = "trace",
    .usage =
        "usage: gaspipe trace [options] [--] PROGRAM [ARG...]\n"
        "       gaspipe trace [options] --process PID\n"
        "       gaspipe trace [options] --read FILE\n"
        "\n"
        "Traces the functions of a program without rebuilding it, and reports on stderr how often "
        "each was called and how long it took.\n",
    .ending = "Exit status: the program's, 128+N if signal N ended it; 2 usage, 3 no such program "
              "or one that cannot be traced, 4 system failure.",
    .rows = rows,
    .row_count = sizeof rows / sizeof *rows,
    .ends_at_operand = true,
};

static int check_libraries(const struct trace_options *options, struct error *error)
{
    size_t length = 0;

    for (size_t i = 0; i < options->libraries.count; i++) {
        const char *const pattern = options->libraries.items[i];

        length += strlen(pattern) + 1;
        if (*pattern == '\0' || strpbrk(pattern, " \t\n/") != NULL)
            return error_set(error, ERROR_USAGE,
                             "--library needs a pattern of a file's name, such as 'libz.so*', not "
                             "'%s'",
                             pattern);
    }
    return length < TRACE_LIBRARIES_SIZE
               ? 0
               : error_set(error, ERROR_USAGE, "--library: the patterns are too long");
}

enum option_result trace_options_parse(struct trace_options *options, int argc, char **argv,
                                       struct error *error)
{
    enum option_result result;

    *options = (struct trace_options){.policy = TRACE_WAIT, .top = TOP_DEFAULT};
    result = option_parse(&trace_options_table, argc, argv, options, &options->arguments, error);
    if (result != OPTION_TAKEN)
        return result;
    if (options->read != NULL && options->arguments[0] != NULL)
        return error_set(error, ERROR_USAGE, "--read and a program do not go together");
    if (options->process != 0 && (options->arguments[0] != NULL || options->read != NULL))
        return error_set(error, ERROR_USAGE, "--process goes with neither a program nor --read");
    if (options->perfetto != NULL && options->read == NULL)
        return error_set(error, ERROR_USAGE,
                         "--perfetto needs --read FILE, a trace that --output or gaspipe run "
                         "--trace-functions wrote");
    if (options->profile != NULL && options->read == NULL)
        return error_set(error, ERROR_USAGE,
                         "--profile needs --read FILE, a trace that gaspipe run or replay "
                         "--trace-functions wrote");
    if (options->text && options->read == NULL)
        return error_set(error, ERROR_USAGE,
                         "--text needs --read FILE, a trace that --output wrote");
    if (options->text &&
        (options->json || options->report != NULL || options->folded != NULL ||
         options->callgrind != NULL || options->perfetto != NULL || options->profile != NULL))
        return error_set(error, ERROR_USAGE, "--text goes with no other output");
    if ((options->requests.begin == NULL) != (options->requests.end == NULL))
        return error_set(error, ERROR_USAGE, "--request-begin and --request-end go together");
    if (options->requests.begin != NULL &&
        (options->output == NULL || options->clock != TRACE_CLOCK_TSC))
        return error_set(error, ERROR_USAGE, "--request-begin needs --output FILE and --clock tsc");
    if (options->slog != NULL && options->read == NULL)
        return error_set(error, ERROR_USAGE,
                         "--slog needs --read FILE, a trace with --request-begin");
    if (options->overhead != 0 && options->read != NULL)
        return error_set(error, ERROR_USAGE, "--overhead does not go with --read");
    if (options->clock != TRACE_CLOCK_TSC && options->read != NULL)
        return error_set(error, ERROR_USAGE,
                         "--clock does not go with --read: it is decided as a trace is written");
    if (options->clock == TRACE_CLOCK_COMPUTRONS && options->policy != TRACE_WAIT)
        return error_set(error, ERROR_USAGE, "--clock computrons needs --when-full wait");
    if (options->milliseconds != 0 && options->process == 0)
        return error_set(error, ERROR_USAGE, "--seconds needs --process");
    if (options->read == NULL && options->process == 0 && options->arguments[0] == NULL)
        return error_set(error, ERROR_USAGE, "give a program to trace");
    if (!options->all && options->choice.functions.count == 0 && options->sources.count == 0)
        options->choice.leaf_size = LEAF_SIZE;
    return check_libraries(options, error) == 0 ? OPTION_TAKEN : OPTION_FAILED;
}

void trace_options_free(struct trace_options *options)
{
    option_list_free(&options->choice.functions);
    option_list_free(&options->choice.without);
    option_list_free(&options->choice.values);
    option_list_free(&options->libraries);
    option_list_free(&options->sources);
}
