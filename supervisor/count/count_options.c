/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/count/count_options.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/common_options.h"
#include "supervisor/process/guest.h"

enum { REPEAT_MAX = 100000, TIMED_DEFAULT = 10 };

static const char *const precisions[] = {"auto", "block", "instruction", NULL};
static const char *const reps[] = {"iterations", "once", NULL};
static const char *const randoms[] = {"pinned", "host", NULL};

static const char *const counters[] = {[COUNT_QEMU] = "qemu", [COUNT_COMPILED] = "compiled", NULL};

static const struct option_row rows[] = {
    {"Counting", .kind = OPTION_HEADING},

    {"counter", NULL,
     "count instructions under QEMU (qemu), or block cost natively in a program that gaspipe-cc "
     "compiled (compiled) (default: qemu)",
     OPTION_IS_CHOICE(struct count_options, counter, counters)},
    {"repeat", "N", "run the program N times and report whether the counts agree (default: 1)",
     OPTION_IS_NUMBER(struct count_options, repeat, 1, REPEAT_MAX)},
    {"max-instructions", "N",
     "end each process that executes more than N instructions (default: 0, no limit)",
     OPTION_IS_NUMBER(struct count_options, limit, 0, UINT64_MAX / 2)},
    {"max-cost", "N",
     "end each process that costs more than N units; requires --counter compiled (default: 0, no "
     "limit)",
     OPTION_IS_NUMBER(struct count_options, cost_limit, 0, INT64_MAX)},
    {"precision", NULL,
     "count by block, exactly even if instructions fault, or switch when it can matter (default: "
     "auto)",
     OPTION_IS_CHOICE(struct count_options, precision, precisions)},
    {"rep", NULL,
     "count a repeated string instruction per iteration, or once (default: iterations)",
     OPTION_IS_CHOICE(struct count_options, rep, reps),
     .given = offsetof(struct count_options, rep_given)},
    {"kinds",
     .help =
         "count also by kind of instruction and of memory access, and list system calls by name",
     OPTION_IS_FLAG(struct count_options, kinds)},
    {"Environment of the program", .kind = OPTION_HEADING},

    {"random", NULL, "provide the same random bytes to each run, or the host's (default: pinned)",
     OPTION_IS_CHOICE(struct count_options, random, randoms)},
    {"env", "NAME=VALUE", "set a variable in the otherwise empty environment (may be repeated)",
     OPTION_IS_PAIRS(struct count_options, variables)},
    {"directory", "DIR", "run the program in DIR (default: the current directory)",
     OPTION_IS_TEXT(struct count_options, directory)},
    {"Comparison", .kind = OPTION_HEADING},

    {"versus", "COMMAND",
     "count this command too, given as one word, and compare (may be repeated)",
     OPTION_IS_LIST(struct count_options, versus)},
    {"time", "N",
     "measure wall and CPU time of N further runs without the counter; their input is empty, their "
     "output discarded (default: 10 with --versus, else 0)",
     OPTION_IS_NUMBER(struct count_options, timed, 0, REPEAT_MAX),
     .given = offsetof(struct count_options, timed_given)},
    {"export-markdown", "FILE", "write a Markdown table; requires --versus or --time",
     OPTION_IS_TEXT(struct count_options, markdown)},
    {"export-csv", "FILE", "write comma-separated values; requires --versus or --time",
     OPTION_IS_TEXT(struct count_options, csv)},
    {"save", "FILE", "save the count as a baseline", OPTION_IS_TEXT(struct count_options, save)},
    {"against", "FILE", "compare the count with this baseline",
     OPTION_IS_TEXT(struct count_options, against)},
    {"allow", "PERCENT", "accept counts up to PERCENT above the baseline (default: 0)",
     OPTION_IS_OTHER(struct count_options, allow, common_options_take_percent)},
    {"Output", .kind = OPTION_HEADING},

    {"gas", "FILE", "print a price by this gas model", OPTION_IS_TEXT(struct count_options, gas)},
    {"profile", "FILE",
     "write which functions executed the instructions, as folded stacks of all runs",
     OPTION_IS_TEXT(struct count_options, profile)},
    {"profile-json", "FILE", "write the same as JSON lines",
     OPTION_IS_TEXT(struct count_options, profile_json)},
    {"profile-callgrind", "FILE", "write the same for callgrind_annotate and kcachegrind",
     OPTION_IS_TEXT(struct count_options, profile_callgrind)},
    {"output", "FILE", "write the report to FILE (default: stderr)",
     OPTION_IS_TEXT(struct count_options, output)},
    {COMMON_OPTION_JSON(struct count_options, json)},
};

const struct option_table count_options_table = {
    .program = "gaspipe",
    .command = "count",
    .usage = "usage: gaspipe count [options] [--] PROGRAM [ARG...]\n"
             "\n"
             "Runs any x86-64 Linux program or script under QEMU and reports on stderr how many "
             "machine instructions it and all programs that it starts executed. The program's own "
             "input and output are unchanged.\n",
    .ending =
        "Exit status: 0 all runs succeeded and agree, 1 otherwise, 2 usage, 3 no such program "
        "or bad gas model, 4 system failure, 6 more instructions than --against allows.",
    .rows = rows,
    .row_count = sizeof rows / sizeof *rows,
    .ends_at_operand = true,
};

/* Replaces a variable of that name by NAME=VALUE, or adds it at the end. */
static int set_variable(struct count_options *options, const char *variable, struct error *error)
{
    size_t length = strcspn(variable, "="), count = 0;
    const char **larger;

    for (; options->environment[count] != NULL; count++) {
        if (strncmp(options->environment[count], variable, length + 1) == 0) {
            options->environment[count] = variable;
            return 0;
        }
    }
    larger = reallocarray(options->environment, count + 2, sizeof *larger);
    if (larger == NULL)
        return error_memory(error, "the environment");
    larger[count] = variable;
    larger[count + 1] = NULL;
    options->environment = larger;
    return 0;
}

/* The pinned environment, what keeps the hashes of Perl's programs the same, and --env. */
static int set_environment(struct count_options *options, struct error *error)
{
    static const char *const perl[] = {"PERL_HASH_SEED=0", "PERL_PERTURB_KEYS=0"};
    const char *const *pinned = guest_environment();
    int result = 0;

    options->environment = calloc(1, sizeof *options->environment);
    if (options->environment == NULL)
        return error_memory(error, "the environment");
    for (; result == 0 && *pinned != NULL; pinned++)
        result = set_variable(options, *pinned, error);
    for (size_t i = 0; result == 0 && i < sizeof perl / sizeof *perl; i++)
        result = set_variable(options, perl[i], error);
    for (size_t i = 0; result == 0 && i < options->variables.count; i++)
        result = set_variable(options, options->variables.items[i], error);
    return result;
}

static void add_plugin_option(struct count_options *options, const char *name, const char *value)
{
    buf_printf(&options->plugin, "%s%s=%s", options->plugin.length > 0 ? "," : "", name, value);
}

/* The options of libgascount.so. */
static int set_plugin(struct count_options *options, struct error *error)
{
    char limit[32];

    snprintf(limit, sizeof limit, "%" PRIu64, options->limit);
    if (options->limit > 0)
        add_plugin_option(options, "limit", limit);
    if (options->precision != 0)
        add_plugin_option(options, "precision", precisions[options->precision]);
    if (options->rep_given)
        add_plugin_option(options, "rep", reps[options->rep]);
    if (options->random == 0)
        add_plugin_option(options, "random", randoms[options->random]);
    if (options->kinds)
        add_plugin_option(options, "kinds", "on");
    return buf_failed(&options->plugin) ? error_memory(error, "the options") : 0;
}

/* Refuses options that only the other counter has. */
static int check_counter(const struct count_options *options, struct error *error)
{
    if (options->counter == COUNT_QEMU)
        return options->cost_limit == 0
                   ? 0
                   : error_set(error, ERROR_USAGE, "--max-cost needs --counter compiled");
    if (options->limit > 0 || options->precision != 0 || options->rep_given ||
        options->random != 0 || options->kinds)
        return error_set(error, ERROR_USAGE,
                         "--counter compiled runs without QEMU, which --max-instructions, "
                         "--precision, --rep, --random and --kinds are about");
    return 0;
}

/* Comparisons and baselines. */
static int check_comparison(struct count_options *options, struct error *error)
{
    const bool compares = options->versus.count > 0 || options->timed > 0;
    const bool keeps = options->save != NULL || options->against != NULL;

    if (options->versus.count > 0 && !options->timed_given)
        options->timed = TIMED_DEFAULT;
    if ((compares || keeps) && options->counter == COUNT_COMPILED)
        return error_set(error, ERROR_USAGE,
                         "--versus, --time, --save and --against need --counter qemu");
    if (compares && (keeps || options->kinds || options->gas != NULL || options->profile != NULL ||
                     options->profile_json != NULL || options->profile_callgrind != NULL))
        return error_set(error, ERROR_USAGE,
                         "--versus and --time go with neither baselines, --gas, --kinds nor "
                         "profiles");
    if (!compares && (options->markdown != NULL || options->csv != NULL))
        return error_set(error, ERROR_USAGE,
                         "--export-markdown and --export-csv need --versus or --time");
    if (options->allow > 0 && options->against == NULL)
        return error_set(error, ERROR_USAGE, "--allow needs --against FILE");
    return 0;
}

enum option_result count_options_parse(struct count_options *options, int argc, char **argv,
                                       struct error *error)
{
    enum option_result result;
    char **operands;

    *options = (struct count_options){.repeat = 1};
    result = option_parse(&count_options_table, argc, argv, options, &operands, error);
    if (result != OPTION_TAKEN)
        return result;
    if (operands[0] == NULL)
        return error_set(error, ERROR_USAGE, "give a program to count");
    options->arguments = (const char *const *)operands;
    if (check_counter(options, error) != 0 || check_comparison(options, error) != 0)
        return OPTION_FAILED;
    return set_environment(options, error) != 0 || set_plugin(options, error) != 0 ? OPTION_FAILED
                                                                                   : OPTION_TAKEN;
}

void count_options_free(struct count_options *options)
{
    buf_free(&options->plugin);
    option_list_free(&options->variables);
    option_list_free(&options->versus);
    free(options->environment);
    *options = (struct count_options){0};
}
