/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/status/status.h"

#include <getopt.h>
#include <stdio.h>

#include "base/log.h"
#include "supervisor/option_value.h"
#include "supervisor/status/status_facts.h"
#include "supervisor/status/status_output.h"

struct status_options {
    const char *store; /* folder; borrowed from argv */
    bool json;
    bool help;
};

static const char help[] =
    "usage: gaspipe status [options] --store DIR\n"
    "\n"
    "Shows what a store of gaspipe run contains: its vats, what is queued, how much of the\n"
    "deliveries file was taken in, and how large its parts are. It reads what was last committed,\n"
    "even while a run is using the store, and changes nothing.\n"
    "\n"
    "  --store DIR               the store's folder\n"
    "  --json                    print JSON lines\n"
    "  --help                    print this and exit\n"
    "\n"
    "Exit status: 0 success, 2 usage, 3 bad input, 4 system failure.\n";

enum { OPTION_STORE = 256, OPTION_JSON, OPTION_HELP };

static const struct option long_options[] = {
    {"store", required_argument, NULL, OPTION_STORE},
    {"json", no_argument, NULL, OPTION_JSON},
    {"help", no_argument, NULL, OPTION_HELP},
    {0},
};

static int take_option(void *context, int option, struct error *error)
{
    struct status_options *options = context;

    (void)error;
    switch (option) {
    case OPTION_STORE:
        options->store = optarg;
        return 0;
    case OPTION_JSON:
        options->json = true;
        return 0;
    default:
        options->help = true;
        return 0;
    }
}

static int parse(struct status_options *options, int argc, char **argv, struct error *error)
{
    *options = (struct status_options){0};
    if (option_take_all(argc, argv, long_options, take_option, options, error) != 0)
        return -1;
    if (options->help)
        return 0;
    if (options->store == NULL || argc != optind)
        return error_set(error, ERROR_USAGE, "give --store DIR, and nothing else");
    return 0;
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
    struct status_options options;
    struct error error;

    if (parse(&options, argc, argv, &error) != 0) {
        log_line("status: %s (see gaspipe status --help)", error.text);
        return (int)error.kind;
    }
    if (options.help) {
        fputs(help, stdout);
        return 0;
    }
    if (show(&options, &error) != 0) {
        log_line("%s", error.text);
        return (int)error.kind;
    }
    return 0;
}
