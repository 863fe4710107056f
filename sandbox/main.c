/* SPDX-License-Identifier: Apache-2.0 */
/* gaspipe-sandbox: gives up what a worker does not need, then becomes the worker. */
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "sandbox/landlock.h"
#include "sandbox/limits.h"
#include "sandbox/privileges.h"
#include "sandbox/probe.h"
#include "sandbox/start_filter.h"

enum { EXIT_USAGE = 2, EXIT_MISSING = 125, EXIT_CANNOT_EXECUTE = 126 };

static const char usage[] =
    "usage: gaspipe-sandbox [--strict] [--descriptors N] [--program FILE]... [--preload FILE]\n"
    "                       -- PROGRAM [ARG...]\n"
    "\n"
    "Executes PROGRAM so that it reaches no files but the system's libraries, PROGRAM and\n"
    "each FILE, no network and no other process, and has no privileges. PROGRAM's argv[0] is\n"
    "the one that gaspipe-sandbox was started with.\n"
    "\n"
    "  --strict         refuse to run with less than all of it\n"
    "  --descriptors N  close all from N on, from 3 to 9\n"
    "  --program FILE   may be read and executed, too\n"
    "  --preload FILE   a library that is loaded into PROGRAM first\n"
    "  -h, --help       say this and end\n"
    "  --version        say the version and end\n"
    "\n"
    "Exit status: PROGRAM's; 2 usage, 125 something is missing, 126 PROGRAM cannot be executed.\n";

struct request {
    bool strict;
    unsigned descriptors;  /* the first that is closed; 0: none is */
    const char **programs; /* the FILEs, PROGRAM, NULL */
    size_t program_count;
    const char *preload; /* NULL: none */
};

/* Goes on to what else can be had; the error's words are kept. */
static void note_failure(char *missing, int result, const struct error *error)
{
    if (result < 0)
        sandbox_note_missing(missing, error->text);
}

/* As much as can be had; what is missing, in words. */
static void enter(const struct request *request, char missing[SANDBOX_MISSING_SIZE])
{
    struct error error;
    unsigned namespaces;
    int abi;

    if (request->descriptors > 0 && close_range(request->descriptors, ~0U, 0) != 0)
        sandbox_note_missing(missing, "close_range(2)");
    note_failure(missing, sandbox_limit_resources(&error), &error);
    sandbox_enter_namespaces(&namespaces);
    if (namespaces != SANDBOX_NAMESPACES_ALL)
        sandbox_note_missing(missing, "namespaces");
    note_failure(missing, sandbox_drop_privileges(&error), &error);
    abi = sandbox_restrict_paths(request->programs, &error);
    note_failure(missing, abi, &error);
    if (abi == 0)
        sandbox_note_missing(missing, "Landlock");
    note_failure(missing, sandbox_enter_start_filter(&error), &error);
}

enum { OPTION_STRICT = 256, OPTION_PROGRAM, OPTION_PRELOAD, OPTION_VERSION, OPTION_DESCRIPTORS };

static const struct option long_options[] = {
    {"strict", no_argument, NULL, OPTION_STRICT},
    {"program", required_argument, NULL, OPTION_PROGRAM},
    {"preload", required_argument, NULL, OPTION_PRELOAD},
    {"descriptors", required_argument, NULL, OPTION_DESCRIPTORS},
    {"version", no_argument, NULL, OPTION_VERSION},
    {"help", no_argument, NULL, 'h'},
    {0},
};

/* False where the process ends now, with *status. */
static bool take_option(struct request *request, int option, int *status)
{
    switch (option) {
    case OPTION_STRICT:
        request->strict = true;
        return true;
    case OPTION_DESCRIPTORS:
        if (optarg[0] >= '3' && optarg[0] <= '9' && optarg[1] == '\0') {
            request->descriptors = (unsigned)(optarg[0] - '0');
            return true;
        }
        log_line("--descriptors needs a number from 3 to 9, not '%s'", optarg);
        *status = EXIT_USAGE;
        return false;
    case OPTION_PRELOAD:
        request->preload = optarg; /* and a program */
        /* fallthrough */
    case OPTION_PROGRAM:
        request->programs[request->program_count++] = optarg;
        return true;
    case OPTION_VERSION:
        puts("gaspipe-sandbox " GASPIPE_VERSION);
        *status = EXIT_SUCCESS;
        return false;
    case 'h':
        fputs(usage, stdout);
        *status = EXIT_SUCCESS;
        return false;
    default:
        *status = EXIT_USAGE;
        return false;
    }
}

static int become(const struct request *request, char **arguments, char *name)
{
    char *const program = arguments[0];

    arguments[0] = name;
    if (request->preload != NULL && setenv("LD_PRELOAD", request->preload, 1) != 0) {
        log_line("--preload: %m");
        return EXIT_CANNOT_EXECUTE;
    }
    execv(program, arguments);
    log_line("%s: %m", program);
    return EXIT_CANNOT_EXECUTE;
}

int main(int argc, char **argv)
{
    static struct request request;
    char missing[SANDBOX_MISSING_SIZE] = "";
    int option, status = EXIT_SUCCESS;

    log_name("gaspipe-sandbox");
    /* More than the command line can name. */
    request.programs = calloc((size_t)argc + 1, sizeof *request.programs);
    if (request.programs == NULL) {
        log_line("not enough memory");
        return EXIT_CANNOT_EXECUTE;
    }
    while ((option = getopt_long(argc, argv, "+h", long_options, NULL)) != -1)
        if (!take_option(&request, option, &status))
            return status;
    if (optind == argc) {
        log_line("there is no PROGRAM; see gaspipe-sandbox --help");
        return EXIT_USAGE;
    }
    request.programs[request.program_count] = argv[optind];
    enter(&request, missing);
    if (request.strict && missing[0] != '\0') {
        log_line("--strict: this system lacks: %s", missing);
        return EXIT_MISSING;
    }
    return become(&request, argv + optind, argv[0]);
}
