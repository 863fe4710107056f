/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <inttypes.h>
#include <malloc.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "base/error.h"
#include "base/io.h"
#include "base/log.h"
#include "base/option/manual.h"
#include "base/option/option.h"
#include "base/option/option_complete.h"
#include "supervisor/commands.h"
#include "supervisor/count/count_options.h"
#include "supervisor/estimate/estimate_options.h"
#include "supervisor/fleet/fleet.h"
#include "supervisor/ping/ping_options.h"
#include "supervisor/replay/replay_options.h"
#include "supervisor/run/run_options.h"
#include "supervisor/trace/trace_options.h"

static const char usage[] =
    "usage: gaspipe COMMAND [options]\n"
    "\n"
    "  run       run deliveries to contracts in worker processes, metered\n"
    "  replay    repeat recorded deliveries and compare\n"
    "  fleet     replay, estimate or report on many machines\n"
    "  status    show what a store contains\n"
    "  verify    check that a store is undamaged\n"
    "  compile   compile a module of WebAssembly to machine code\n"
    "  convert   make the files of a run from a SwingSet configuration\n"
    "  count     count the machine instructions of any program\n"
    "  estimate  estimate what operations of contracts cost, and compare with their charges\n"
    "  ping      measure the pipe to a worker\n"
    "  trace     trace the functions of a program\n"
    "  help      list the commands, or open the manual page of one\n"
    "\n"
    "gaspipe COMMAND --help lists the options of a command. gaspipe --version prints the\n"
    "version; gaspipe --completion bash|zsh|fish prints a completion script.\n";

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
} commands[] = {
    {"run", run_command},         {"count", count_command},     {"ping", ping_command},
    {"replay", replay_command},   {"status", status_command},   {"trace", trace_command},
    {"verify", verify_command},   {"fleet", fleet_command},     {"estimate", estimate_command},
    {"compile", compile_command}, {"convert", convert_command},
};

static const struct option_command completed[] = {
    {"run", &run_options_table},
    {"replay", &replay_options_table},
    {"fleet submit", &fleet_options_tables[0]},
    {"fleet work", &fleet_options_tables[1]},
    {"fleet status", &fleet_options_tables[2]},
    {"fleet collect", &fleet_options_tables[3]},
    {"fleet cancel", &fleet_options_tables[4]},
    {"fleet", NULL},
    {"status", &status_options_table},
    {"verify", &verify_options_table},
    {"compile", &compile_options_table},
    {"convert", &convert_options_table},
    {"count", &count_options_table},
    {"estimate", &estimate_options_table},
    {"ping", &ping_options_table},
    {"trace", &trace_options_table},
    {"help", NULL},
    {0},
};

/* Counts open files: the program that started gaspipe may have left some open. */
static uint64_t count_descriptors(uint64_t limit)
{
    uint64_t count = 0;

    for (uint64_t i = 0; i < limit; i++)
        count += fcntl((int)i, F_GETFD) >= 0;
    return count;
}

/* libuv aborts where it gets no descriptors for a pipe of its own. A run raises the limit further
 * once it knows how many workers it has. */
static int check_descriptors(void)
{
    enum { WANTED = 64, OWN = 13 };
    struct rlimit limit;
    uint64_t open;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= WANTED)
        return 0;
    limit.rlim_cur = limit.rlim_max < WANTED ? limit.rlim_max : WANTED;
    open = count_descriptors(limit.rlim_cur);
    if (setrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur >= open + OWN)
        return 0;
    log_line("open files are limited to %" PRIu64 ", and gaspipe needs at least %" PRIu64
             " (ulimit -n)",
             (uint64_t)limit.rlim_cur, open + OWN);
    return ERROR_SYSTEM;
}

/* The index of the command; -1 after printing a message that suggests another. */
static int find_command(const char *name)
{
    struct similar similar = {.word = name};

    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        if (strcmp(name, commands[i].name) == 0)
            return (int)i;
        similar_try(&similar, commands[i].name);
    }
    log_line("unknown command '%s'%s (see gaspipe help)", name, similar_hint(&similar, ""));
    return -1;
}

/* Prints this on stdout; the exit status. */
static int print(const char *text)
{
    struct error error;

    if (option_print(text, &error) == 0)
        return 0;
    log_line("%s", error.text);
    return ERROR_SYSTEM;
}

/* argv[0] is "help". Without man(1) it prints --help of the command. */
static int print_help(int argc, char **argv)
{
    char option[] = "--help";
    char *arguments[] = {argv[argc - 1], option, NULL};
    struct error error;
    int command;

    if (argc != 2) {
        if (argc == 1)
            return print(usage);
        fputs(usage, stderr);
        return ERROR_USAGE;
    }
    if (strcmp(argv[1], "help") == 0)
        (void)manual_open("gaspipe", NULL, &error);
    command = strcmp(argv[1], "help") == 0 ? 0 : find_command(argv[1]);
    if (command < 0)
        return ERROR_USAGE;
    (void)manual_open("gaspipe", argv[1], &error);
    log_line("%s", error.text);
    return commands[command].run(2, arguments);
}

int main(int argc, char **argv)
{
    int status, command;

    log_name("gaspipe");
    if (io_open_standard() != 0)
        return ERROR_SYSTEM; /* with nowhere to say so */
    /* A worker or a reader that went away is met as EPIPE, where it can be said. */
    signal(SIGPIPE, SIG_IGN);
    /* So is a file that has reached its limit, as EFBIG. */
    signal(SIGXFSZ, SIG_IGN);
    /* Large blocks go back to the system when they are freed, however many there were. */
    (void)mallopt(M_MMAP_THRESHOLD, 1 << 20);
    if (argc < 2) {
        fputs(usage, stderr);
        return ERROR_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
        return print(usage);
    if (strcmp(argv[1], "help") == 0)
        return print_help(argc - 1, argv + 1);
    if (strcmp(argv[1], "--version") == 0)
        return print("gaspipe " GASPIPE_VERSION "\n");
    status = option_complete_command("gaspipe", completed, argc, argv);
    if (status >= 0)
        return status;
    if (check_descriptors() != 0)
        return ERROR_SYSTEM;
    command = find_command(argv[1]);
    return command < 0 ? ERROR_USAGE : commands[command].run(argc - 1, argv + 1);
}
