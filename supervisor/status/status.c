/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/status/status.h"

#include "base/log.h"
#include "supervisor/common_options.h"
#include "supervisor/status/status_facts.h"
#include "supervisor/status/status_output.h"

struct status_options {
    const char *store; /* folder; borrowed from argv */
    bool json;
};

static const struct option_row rows[] = {
    {"store", "DIR", "the store's folder", OPTION_IS_TEXT(struct status_options, store)},
    {COMMON_OPTION_JSON(struct status_options, json)},
};

const struct option_table status_options_table = {
    .program = "gaspipe",
    .command = "status",
    .usage = "usage: gaspipe status [options] --store DIR\n"
             "\n"
             "Shows what a store of gaspipe run contains: its vats, what is queued, how much of "
             "the deliveries file was taken in, and how large its parts are. It reads what was "
             "last committed, even while a run is using the store, and changes nothing.\n",
    .ending = "Exit status: 0 success, 2 usage, 3 bad input, 4 system failure.",
    .rows = rows,
    .row_count = sizeof rows / sizeof *rows,
};

static enum option_result parse(struct status_options *options, int argc, char **argv,
                                struct error *error)
{
    char **operands;
    enum option_result result =
        option_parse(&status_options_table, argc, argv, options, &operands, error);

    if (result == OPTION_TAKEN && (options->store == NULL || operands[0] != NULL))
        return error_set(error, ERROR_USAGE, "give --store DIR, and nothing else");
    return result;
}

static int show(const struct status_options *options, struct error *error)
{
    struct status_facts facts;
    int result = status_facts_read(&facts, options->store, error);

    if (result == 0)
        result = status_output(&facts, options->store, options->json, error);
    status_facts_free(&facts);
    return result;
}

int status_command(int argc, char **argv)
{
    struct status_options options = {0};
    struct error error;
    enum option_result parsed = parse(&options, argc, argv, &error);

    if (parsed != OPTION_TAKEN)
        return option_end(&status_options_table, parsed, &error);
    if (show(&options, &error) == 0)
        return 0;
    log_line("%s", error.text);
    return (int)error.kind;
}
