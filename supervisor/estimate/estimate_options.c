/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/estimate/estimate_options.h"

#include "base/output/output_file.h"
#include "supervisor/common_options.h"
#include "supervisor/run/run_options.h"

#define ESTIMATE_TEXT(member) OPTION_IS_TEXT(struct estimate_options, member)

static const struct option_row rows[] = {
    {"Calls", .kind = OPTION_HEADING},

    {"only", "PATTERN", "estimate only operations whose names match, such as 'storage_*'",
     ESTIMATE_TEXT(only)},
    {COMMON_OPTION_COUNTER(struct estimate_options, counters, "qemu")},
    {"near-protocol", "N",
     "charge WebAssembly contracts as NEAR's protocol version N, 62 to 87, or up to 158 for what "
     "is "
     "not released (default: 87)",
     OPTION_IS_NUMBER(struct estimate_options, near_protocol, RUN_NEAR_FIRST, RUN_NEAR_NIGHTLY)},
    {COMMON_OPTION_SANDBOX(struct estimate_options, sandbox)},
    {"counts", "FILE", "save what the calls took, as JSON lines of gaspipe run",
     ESTIMATE_TEXT(counts)},
    {"from", "FILE", "estimate from a file of --counts; run nothing", ESTIMATE_TEXT(from)},
    {"deliveries", .help = "print the calls as lines for gaspipe run; run nothing",
     OPTION_IS_FLAG(struct estimate_options, deliveries)},
    {"Prices", .kind = OPTION_HEADING},

    {"gas", "MODEL",
     "compute gas by this model (default: 125000 gas per instruction, NEAR's price)",
     ESTIMATE_TEXT(gas)},
    {"charge", "MODEL",
     "compute today's charges by this model (default: the suite's, or what the engine charged)",
     ESTIMATE_TEXT(charge)},
    {"Comparison", .kind = OPTION_HEADING},

    {"save", "FILE", "save the costs", ESTIMATE_TEXT(save)},
    {"compare", "FILE", "compare with costs of --save, or with the last line of a history",
     ESTIMATE_TEXT(compare)},
    {"allow", "PERCENT",
     "accept costs that moved by at most PERCENT; requires --compare (default: 0)",
     OPTION_IS_OTHER(struct estimate_options, allow, common_options_take_percent)},
    {"history", "FILE", "append the costs as a JSON line", ESTIMATE_TEXT(history)},
    {"label", "TEXT",
     "name this version in the history (default: 12 characters of the fingerprint)",
     ESTIMATE_TEXT(label)},
    {"Output", .kind = OPTION_HEADING},

    {"html", "FILE", "write a page with all costs, and with --history their plots",
     ESTIMATE_TEXT(html)},
    {COMMON_OPTION_JSON(struct estimate_options, json)},
};

const struct option_table estimate_options_table = {
    .program = "gaspipe",
    .command = "estimate",
    .usage =
        "usage: gaspipe estimate [options] SUITE\n"
        "\n"
        "Calls methods of contracts many times and estimates what each operation costs, in machine "
        "instructions and in gas, next to what is charged for it today. SUITE is a directory with "
        "suite.json, which lists the operations, or the name of an installed suite: near or "
        "javascript.\n",
    .ending = "Exit status: 0 success, 1 a call failed, 2 usage, 3 bad input, 4 system failure, 6 "
              "a cost moved further than --allow.",
    .rows = rows,
    .row_count = sizeof rows / sizeof *rows,
};

static int estimate_options_check(const struct estimate_options *options, struct error *error)
{
    const struct output_wanted outputs[] = {{options->save, "--save"},
                                            {options->history, "--history"},
                                            {options->html, "--html"},
                                            {options->counts, "--counts"}};

    if (options->allow > 0 && options->compare == NULL)
        return error_set(error, ERROR_USAGE, "--allow needs --compare FILE");
    if (options->label != NULL && options->history == NULL && options->save == NULL &&
        options->html == NULL)
        return error_set(error, ERROR_USAGE, "--label needs --history, --save or --html");
    if (options->from != NULL && options->counts != NULL)
        return error_set(error, ERROR_USAGE, "--counts and --from exclude one another");
    return output_file_check_all_apart(outputs, sizeof outputs / sizeof *outputs, error);
}

enum option_result estimate_options_parse(struct estimate_options *options, int argc, char **argv,
                                          struct error *error)
{
    enum option_result result;
    char **operands;

    *options = (struct estimate_options){.counters = {.qemu = true}};
    result = option_parse(&estimate_options_table, argc, argv, options, &operands, error);
    if (result != OPTION_TAKEN)
        return result;
    if (operands[0] == NULL || operands[1] != NULL)
        return error_set(error, ERROR_USAGE, "give the directory of a suite, or its name");
    options->directory = operands[0];
    return estimate_options_check(options, error) != 0 ? OPTION_FAILED : OPTION_TAKEN;
}
