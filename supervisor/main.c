/* SPDX-License-Identifier: Apache-2.0 */
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
#include "base/option/option_complete.h"
#include "base/option/similar.h"
#include "supervisor/count/count.h"
#include "supervisor/count/count_options.h"
#include "supervisor/estimate/estimate.h"
#include "supervisor/estimate/estimate_options.h"
#include "supervisor/fleet/fleet.h"
#include "supervisor/ping/ping.h"
#include "supervisor/ping/ping_options.h"
#include "supervisor/replay/replay.h"
#include "supervisor/replay/replay_options.h"
#include "supervisor/run/run.h"
#include "supervisor/run/run_options.h"
#include "supervisor/status.h"
#include "supervisor/trace/trace.h"
#include "supervisor/trace/trace_options.h"
#include "supervisor/verify.h"

static const char usage[] =
    "usage: gaspipe COMMAND [options]\n"
    "\n"
    "  run       deliver to contracts in worker processes, metered\n"
    "  count     count the machine instructions of any program\n"
    "  estimate  estimate what operations of contracts cost, and compare with their charges\n"
    "  ping      measure the pipe to a worker\n"
    "  replay    deliver again what was recorded, and compare\n"
    "  fleet     replay on many machines\n"
    "  status    say what a store holds\n"
    "  verify    check that a store is whole\n"
    "  trace     trace the functions of a running program\n"
    "  help      explain a command\n"
    "\n"
    "gaspipe help COMMAND says more of each, gaspipe --version which version this is;\n"
    "gaspipe --completion bash prints what completes all this in bash.\n";

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
} commands[] = {
    {"run", run_command},       {"count", count_command},   {"ping", ping_command},
    {"replay", replay_command}, {"status", status_command}, {"trace", trace_command},
    {"verify", verify_command}, {"fleet", fleet_command},   {"estimate", estimate_command},
};

static const struct option_command completed[] = {
    {"run", &run_options_table, 0},
    {"count", &count_options_table, 0},
    {"estimate", &estimate_options_table, 0},
    {"ping", &ping_options_table, 0},
    {"replay", &replay_options_table, 0},
    {"status", &status_options_table, 0},
    {"trace", &trace_options_table, 0},
    {"verify", &verify_options_table, 0},
    {"fleet", NULL, 0},
    {"help", NULL, 0},
    {0},
};

/* libuv aborts where it gets no descriptors for a pipe of its own. */
static int check_descriptors(void)
{
    enum { LEAST = 16 };
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= LEAST)
        return 0;
    limit.rlim_cur = limit.rlim_max < LEAST ? limit.rlim_max : LEAST;
    if (limit.rlim_cur == LEAST && setrlimit(RLIMIT_NOFILE, &limit) == 0)
        return 0;
    log_line("open files are limited to %" PRIu64 ", and gaspipe needs at least %d (ulimit -n)",
             (uint64_t)limit.rlim_cur, LEAST);
    return ERROR_SYSTEM;
}

static int run_named(const char *name, int argc, char **argv)
{
    struct similar similar = {.word = name};

    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        if (strcmp(name, commands[i].name) == 0)
            return commands[i].run(argc, argv);
        similar_try(&similar, commands[i].name);
    }
    log_line("unknown command '%s'%s (see gaspipe help)", name, similar_hint(&similar, ""));
    return ERROR_USAGE;
}

/* argv[0] is "help". */
static int help(int argc, char **argv)
{
    char option[] = "--help";
    char *arguments[] = {argv[argc - 1], option, NULL};

    if (argc == 2 && strcmp(argv[1], "help") != 0)
        return run_named(argv[1], 2, arguments);
    fputs(usage, argc <= 2 ? stdout : stderr);
    return argc <= 2 ? 0 : ERROR_USAGE;
}

int main(int argc, char **argv)
{
    int status;

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
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        fputs(usage, stdout);
        return 0;
    }
    if (strcmp(argv[1], "help") == 0)
        return help(argc - 1, argv + 1);
    if (strcmp(argv[1], "--version") == 0) {
        puts("gaspipe " GASPIPE_VERSION);
        return 0;
    }
    status = option_complete_command("gaspipe", completed, argc, argv);
    if (status >= 0)
        return status;
    if (check_descriptors() != 0)
        return ERROR_SYSTEM;
    return run_named(argv[1], argc - 1, argv + 1);
}
