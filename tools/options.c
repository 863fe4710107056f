/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/options.h"

#include <getopt.h>
#include <stddef.h>

enum { OPTION_JSON = 256, OPTION_STRICT, OPTION_HELP, OPTION_VERSION };

static const struct option long_options[] = {
    {"json", no_argument, NULL, OPTION_JSON},
    {"strict", no_argument, NULL, OPTION_STRICT},
    {"help", no_argument, NULL, OPTION_HELP},
    {"version", no_argument, NULL, OPTION_VERSION},
    {0},
};

static int unknown_option(char **argv, struct error *error)
{
    return error_set(error, ERROR_USAGE, "no such option: %s; `slogreport --help` lists them",
                     argv[optind - 1]);
}

static int take_option(int option, char **argv, struct options *options, struct error *error)
{
    switch (option) {
    case OPTION_JSON:
        options->render = &render_json;
        return 0;
    case OPTION_STRICT:
        options->strict = true;
        return 0;
    case OPTION_HELP:
        options->help = true;
        return 0;
    case OPTION_VERSION:
        options->version = true;
        return 0;
    default:
        return unknown_option(argv, error);
    }
}

int options_parse(int argc, char **argv, struct options *options, struct error *error)
{
    int option;

    *options = (struct options){.render = &render_text};
    optind = 1;
    opterr = 0;
    while ((option = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
        if (take_option(option, argv, options, error) != 0)
            return -1;
    }
    options->files = argv + optind;
    if (options->files[0] == NULL && !options->help && !options->version)
        return error_set(error, ERROR_USAGE,
                         "no slogfile named; give a path, or - for standard input");
    return 0;
}
