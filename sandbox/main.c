/* SPDX-License-Identifier: Apache-2.0 */
/* gaspipe-sandbox: drops what a worker does not need, then becomes the worker. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/log.h"
#include "base/option/option.h"
#include "sandbox/contract_filter.h"
#include "sandbox/control_group.h"
#include "sandbox/privileges.h"
#include "sandbox/probe.h"

static const struct sock_filter start_program[] = {
#include <start_filter.inc> /* compiled from sandbox/filters/start_rules.c */
};

static const struct sock_filter zygote_program[] = {
#include <zygote_filter.inc> /* from the same rules */
};

static int enter(const struct sock_filter *filter, size_t length, struct error *error)
{
    const int result = filter_program_enter(filter, length, false);

    return result == 0 ? 0 : error_system(error, result, "cannot enter the filter of system calls");
}

/*
 * Installs the seccomp filter under which a worker starts. The dynamic linker, QEMU and an engine
 * have what they need; creating processes and sockets, reaching other processes, and rarely used
 * parts of Linux fail with EPERM. It stays through execve(). Requires no_new_privs. 0, or -1 with
 * ERROR_SYSTEM.
 */
static int sandbox_enter_start_filter(struct error *error)
{
    return enter(start_program, sizeof start_program / sizeof *start_program, error);
}

/*
 * The same for a process that creates others, which enter the contract filter
 * (sandbox/contract_filter.h) before they do anything not decided here.
 */
static int sandbox_enter_zygote_filter(struct error *error)
{
    return enter(zygote_program, sizeof zygote_program / sizeof *zygote_program, error);
}

enum { EXIT_USAGE = 2, EXIT_MISSING = 125, EXIT_CANNOT_EXECUTE = 126 };

struct request {
    bool strict;
    bool forks;
    uint64_t descriptors;        /* the first to close; 0: none */
    struct option_list programs; /* the FILEs, PROGRAM, NULL */
    const char *preload;         /* NULL: none */
    const char *group;           /* NULL: none */
};

/* Continues with what else is available; keeps the error's text. */
static void note_failure(char *missing, int result, const struct error *error)
{
    if (result < 0)
        sandbox_note_missing(missing, error->text);
}

/* Enters as much of the sandbox as is available, and says what is missing. */
static void main_enter(const struct request *request, char missing[SANDBOX_MISSING_SIZE])
{
    struct error error;
    unsigned namespaces;
    int result, abi;

    if (request->descriptors > 0 && close_range((unsigned)request->descriptors, ~0U, 0) != 0)
        sandbox_note_missing(missing, "close_range(2)");
    if (request->group != NULL)
        note_failure(missing, control_group_enter(request->group, &error), &error);
    note_failure(missing, sandbox_limit_resources(&error), &error);
    sandbox_enter_namespaces(&namespaces);
    if (namespaces != SANDBOX_NAMESPACES_ALL)
        sandbox_note_missing(missing, "namespaces");
    result = sandbox_enter_root((const char **)request->programs.items, &error);
    note_failure(missing, result, &error);
    note_failure(missing, sandbox_drop_privileges(&error), &error);
    abi = sandbox_restrict_paths((const char **)request->programs.items, &error);
    note_failure(missing, abi, &error);
    if (abi == 0)
        sandbox_note_missing(missing, "Landlock");
    result =
        request->forks ? sandbox_enter_zygote_filter(&error) : sandbox_enter_start_filter(&error);
    note_failure(missing, result, &error);
}

static const struct option_row rows[] = {
    {"strict", .help = "refuse to run with less than all of it",
     OPTION_IS_FLAG(struct request, strict)},
    {"forks", .help = "PROGRAM may make processes, which confine themselves",
     OPTION_IS_FLAG(struct request, forks)},
    {"descriptors", "N", "close all from N on, from 3 to 9",
     OPTION_IS_NUMBER(struct request, descriptors, 3, 9)},
    {"program", "FILE", "may be read and executed, too", OPTION_IS_LIST(struct request, programs)},
    {"preload", "FILE", "a library that is loaded into PROGRAM first",
     OPTION_IS_TEXT(struct request, preload)},
    {"group", "DIRECTORY", "a control group that is entered",
     OPTION_IS_TEXT(struct request, group)},
};

static const struct option_table table = {
    .program = "gaspipe-sandbox",
    .usage = "usage: gaspipe-sandbox [--strict] [--forks] [--descriptors N] [--program FILE]... "
             "[--preload "
             "FILE]\n"
             "                       [--group DIRECTORY] -- PROGRAM [ARG...]\n"
             "\n"
             "Executes PROGRAM so that it reaches no files but the system's libraries, PROGRAM and "
             "each FILE, no network and no other process, and has no privileges. PROGRAM's argv[0] "
             "is the one that gaspipe-sandbox was started with.\n",
    .ending = "Exit status: PROGRAM's; 2 usage, 125 something is missing, 126 PROGRAM cannot be "
              "executed.",
    .rows = rows,
    .row_count = sizeof rows / sizeof *rows,
    .ends_at_operand = true,
};

/*
 * Makes paths absolute, as root and working directory will change. Keeps names that do not exist:
 * executing PROGRAM reports them.
 */
static void make_absolute(const char **path)
{
    const char *const absolute = **path == '/' ? NULL : realpath(*path, NULL);

    if (absolute != NULL)
        *path = absolute;
}

/* Parses the command line; *arguments is PROGRAM with its arguments. */
static enum option_result parse_sandbox_arguments(struct request *request, int argc, char **argv,
                                                  char ***arguments, struct error *error)
{
    enum option_result result = option_parse(&table, argc, argv, request, arguments, error);

    if (result != OPTION_TAKEN)
        return result;
    if (**arguments == NULL)
        return error_set(error, ERROR_USAGE, "PROGRAM is missing");
    make_absolute((const char **)*arguments);
    if (request->preload != NULL)
        make_absolute(&request->preload);
    for (size_t i = 0; i < request->programs.count; i++)
        make_absolute((const char **)&request->programs.items[i]);
    if ((request->preload != NULL &&
         option_list_add(&request->programs, (char *)request->preload, error) != 0) ||
        option_list_add(&request->programs, **arguments, error) != 0 ||
        option_list_add(&request->programs, NULL, error) != 0)
        return OPTION_FAILED;
    return OPTION_TAKEN;
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
    struct request request = {0};
    char missing[SANDBOX_MISSING_SIZE] = "";
    char **arguments;
    struct error error;
    enum option_result result;

    log_name("gaspipe-sandbox");
    result = parse_sandbox_arguments(&request, argc, argv, &arguments, &error);
    if (result != OPTION_TAKEN)
        return option_end(&table, result, &error) == 0 ? EXIT_SUCCESS
               : error.kind == ERROR_USAGE             ? EXIT_USAGE
                                                       : EXIT_CANNOT_EXECUTE;
    main_enter(&request, missing);
    if (request.strict && missing[0] != '\0') {
        log_line("--strict: this system lacks: %s", missing);
        return EXIT_MISSING;
    }
    return become(&request, arguments, argv[0]);
}
