/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "base/error.h"
#include "base/io.h"
#include "base/log.h"
#include "supervisor/count/count.h"
#include "supervisor/ping/ping.h"
#include "supervisor/replay/replay.h"
#include "supervisor/run/run.h"
#include "supervisor/status/status.h"
#include "supervisor/trace/trace.h"
#include "supervisor/verify/verify.h"

static const char usage[] =
    "usage: gaspipe COMMAND [options]\n"
    "\n"
    "  run     deliver to contracts in worker processes, metered\n"
    "  count   count the machine instructions of any program\n"
    "  ping    measure the pipe to a worker\n"
    "  replay  deliver again what was recorded, and compare\n"
    "  status  say what a store holds\n"
    "  verify  check that a store is whole\n"
    "  trace   trace the functions of a running program\n"
    "\n"
    "gaspipe COMMAND --help says more of each, gaspipe --version which version this is.\n";

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
} commands[] = {
    {"run", run_command},       {"count", count_command},   {"ping", ping_command},
    {"replay", replay_command}, {"status", status_command}, {"trace", trace_command},
    {"verify", verify_command},
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

int main(int argc, char **argv)
{
    log_name("gaspipe");
    if (io_open_standard() != 0)
        return ERROR_SYSTEM; /* with nowhere to say so */
    /* A worker or a reader that went away is met as EPIPE, where it can be said. */
    signal(SIGPIPE, SIG_IGN);
    /* So is a file that has reached its limit, as EFBIG. */
    signal(SIGXFSZ, SIG_IGN);
    if (argc < 2) {
        fputs(usage, stderr);
        return ERROR_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        fputs(usage, stdout);
        return 0;
    }
    if (strcmp(argv[1], "--version") == 0) {
        puts("gaspipe " GASPIPE_VERSION);
        return 0;
    }
    if (check_descriptors() != 0)
        return ERROR_SYSTEM;
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++)
        if (strcmp(argv[1], commands[i].name) == 0)
            return commands[i].run(argc - 1, argv + 1);
    log_line("unknown command '%s' (see gaspipe --help)", argv[1]);
    return ERROR_USAGE;
}
