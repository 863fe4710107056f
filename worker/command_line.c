/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "base/log.h"
#include "base/number.h"
#include "proto/netstring.h"
#include "worker/command_line.h"
#include "worker/loop.h"
#include "worker/own_stack.h"
#include "worker/xsnap_compat.h"

/* xsnap-worker's descriptors. */
enum { FROM_SUPERVISOR = 3, TO_SUPERVISOR = 4 };

static const char usage[] =
    "usage: gaspipe-worker [options] [NAME]\n"
    "\n"
    "Runs contracts for a supervisor: reads commands as netstrings from descriptor 3 and writes\n"
    "results to descriptor 4, like xsnap-worker. NAME is only shown by ps(1).\n"
    "\n"
    "  -l COMPUTE_LIMIT   computrons for each command (default: no limit)\n"
    "  -i INTERVAL        check the limit every INTERVAL computrons (default: 1 with -l)\n"
    "  -s PARSER_KB       size of the parser's buffer in KiB (default: 8192)\n"
    "  -r SNAPSHOT        start from a snapshot: a path, or @N for descriptor N\n"
    "  -p                 print() shows the computrons spent\n"
    "  -n                 print \"deprecated\" and exit, as xsnap-worker does\n"
    "  -v, --version      print the version and exit\n"
    "  -h, --help         print this and exit\n"
    "  --max-frame BYTES  refuse longer frames (default: 67108864)\n"
    "  --max-instructions N  machine instructions for each delivery, under QEMU\n"
    "  --max-cost N       units of block cost for each delivery, in a metered worker\n"
    "  --max-heap BYTES   of the engine's heap (default: the engine's own limit)\n"
    "  --compiled FILE    machine code of the contract, by gaspipe compile\n"
    "  --die-with-parent  be killed when the supervisor ends\n"
    "  --fork-on-request  once started, make workers like this one for a supervisor that asks\n"
    "                     for them on descriptor 3, a socket; also be killed when it ends\n"
    "  --profile          with each result, its cost by function and line\n"
    "  --report-stops     before ending at a limit, report what the delivery used\n"
    "  --confine          once started, only compute, read and write\n"
    "  --compat xsnap     say and do exactly what xsnap-worker does, as when started\n"
    "                     by that name; words: only what it says of a lost parent\n"
    "\n"
    "Exit status: 0 success, 1 usage, 2 the pipe failed, 11 memory, 12 stack, 15 the last\n"
    "command threw, 16 keys, 17 computation, 30 instructions, 31 a truncated frame,\n"
    "32 a bad frame, 33 the system refused it memory,\n"
    "34 a message too long for a frame, 35 block cost, 36 stopped\n"
    "by the supervisor, 255 the engine failed otherwise.\n";

enum { NAME_WORD = 1 }; /* getopt_long()'s word for what is no option */
enum {
    OPTION_MAX_FRAME = 256,
    OPTION_MAX_INSTRUCTIONS,
    OPTION_MAX_COST,
    OPTION_DIE_WITH_PARENT,
    OPTION_FORK_ON_REQUEST,
    OPTION_CONFINE,
    OPTION_COMPAT,
    OPTION_PROFILE,
    OPTION_REPORT_STOPS,
    OPTION_MAX_HEAP,
    OPTION_COMPILED,
    OPTION_POLL_PAGE
};

static const struct option long_options[] = {
    {"help", no_argument, NULL, 'h'},
    {"version", no_argument, NULL, 'v'},
    {"max-frame", required_argument, NULL, OPTION_MAX_FRAME},
    {"max-instructions", required_argument, NULL, OPTION_MAX_INSTRUCTIONS},
    {"max-cost", required_argument, NULL, OPTION_MAX_COST},
    {"max-heap", required_argument, NULL, OPTION_MAX_HEAP},
    {"compiled", required_argument, NULL, OPTION_COMPILED},
    {"die-with-parent", no_argument, NULL, OPTION_DIE_WITH_PARENT},
    {"fork-on-request", no_argument, NULL, OPTION_FORK_ON_REQUEST},
    {"profile", no_argument, NULL, OPTION_PROFILE},
    {"report-stops", no_argument, NULL, OPTION_REPORT_STOPS},
    {"confine", no_argument, NULL, OPTION_CONFINE},
    {"compat", required_argument, NULL, OPTION_COMPAT},
    {0},
};

/* Returns true if optarg is a number from 0 to max; else reports the error. */
static bool command_line_take_number(const char *option, uint64_t max, uint64_t *number)
{
    struct error error;

    if (number_option(option, optarg, 0, max, number, &error) == 0)
        return true;
    log_line("%s", error.text);
    return false;
}

static bool take_u32(const char *option, uint32_t max, uint32_t *number)
{
    uint64_t value;

    if (!command_line_take_number(option, max, &value))
        return false;
    *number = (uint32_t)value;
    return true;
}

static void print_version(const struct loop_options *options)
{
    char line[64];

    options->ops->version(line, sizeof line);
    printf("%s\n", line);
    /* A script of Agoric's takes all that is printed for the version. */
    if (!options->xsnap)
        printf("gaspipe-worker " GASPIPE_VERSION "\n");
}

static void be_xsnap(struct loop_options *options)
{
    options->xsnap = true;
    options->engine.quiet = true;
    options->frame_cap = XSNAP_FRAME_MOST;
}

static bool take_compat(struct loop_options *options)
{
    if (strcmp(optarg, "xsnap") == 0) {
        be_xsnap(options);
        return true;
    }
    if (strcmp(optarg, "words") == 0) {
        options->parent_words = true;
        return true;
    }
    log_line("--compat %s: only xsnap and words are known", optarg);
    return false;
}

static int die_with_parent(void)
{
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) == 0)
        return 0;
    log_line("--die-with-parent: %m");
    return -1;
}

/* Returns true if the option is valid; else reports the error. */
static bool take_option(struct loop_options *options, int option)
{
    uint64_t number;

    switch (option) {
    case NAME_WORD:
        options->name = optarg;
        return true;
    case 'l':
        return take_u32("-l", INT32_MAX, &options->engine.compute_limit);
    case 'i':
        return take_u32("-i", INT32_MAX, &options->engine.compute_interval);
    case 's':
        return take_u32("-s", INT32_MAX / 1024, &options->engine.parser_kb);
    case 'r':
        options->snapshot = optarg;
        return true;
    case 'p':
        options->engine.print_compute = true;
        return true;
    case OPTION_MAX_FRAME:
        if (!command_line_take_number("--max-frame", INT32_MAX, &number))
            return false;
        options->frame_cap = number;
        return true;
    case OPTION_MAX_INSTRUCTIONS:
        return command_line_take_number("--max-instructions", INT64_MAX,
                                        &options->instruction_limit);
    case OPTION_MAX_COST:
        options->engine.cost_limited = true;
        return command_line_take_number("--max-cost", INT64_MAX, &options->cost_limit);
    case OPTION_MAX_HEAP:
        return command_line_take_number("--max-heap", INT64_MAX, &options->engine.heap_limit);
    case OPTION_DIE_WITH_PARENT:
        return die_with_parent() == 0;
    case OPTION_FORK_ON_REQUEST:
        options->forks = true;
        return die_with_parent() == 0;
    case OPTION_COMPILED:
        options->engine.compiled = optarg;
        return true;
    case OPTION_PROFILE:
        options->engine.profile = true;
        return true;
    case OPTION_REPORT_STOPS:
        options->report_stops = true;
        return true;
    case OPTION_CONFINE:
        options->confine = true;
        return true;
    case OPTION_COMPAT:
        return take_compat(options);
    default:
        return false;
    }
}

/*
 * xsnap-worker takes each short option by itself and refuses any other word with a hyphen:
 * -l5, -pv, - and --. A NAME like these must not set a limit or hide the options after it.
 * `before` is where getopt_long() stood.
 */
static bool is_no_option(int option, int before, char **argv)
{
    if (option == NAME_WORD)
        return optarg[0] == '-';
    if (option == -1)
        return argv[before] != NULL;
    return option < OPTION_MAX_FRAME && optind - before != (optarg != NULL ? 2 : 1);
}

/* Returns the next option or NAME_WORD, -1 at the end, '?' after an error that it reports. */
static int next_option(const struct loop_options *options, int argc, char **argv)
{
    int before = optind;
    /* With the hyphen getopt_long() reports names in order, and permutes nothing. */
    int option;

    opterr = !options->xsnap;
    option = getopt_long(argc, argv, "-l:i:s:r:pnvh", long_options, NULL);
    if (option == '?' || !is_no_option(option, before, argv))
        return option;
    if (options->xsnap)
        return '?';
    log_line("'%s' is neither an option nor a name: options stand one by one, as in -l 5, and no "
             "name begins with a hyphen",
             argv[before]);
    return '?';
}

static int check_descriptor(int descriptor)
{
    if (fcntl(descriptor, F_GETFD) >= 0)
        return 0;
    log_line("descriptor %d is not open: a supervisor starts this program with its pipe on "
             "descriptors 3 and 4",
             descriptor);
    return -1;
}

/* Returns true if the options are valid. If an option ends the program at once, *ended is its
 * exit status. */
static bool take_options(struct loop_options *options, int argc, char **argv, int *ended)
{
    int option;

    while ((option = next_option(options, argc, argv)) != -1) {
        *ended = WORKER_EXIT_OK;
        switch (option) {
        case 'v':
            print_version(options);
            return true;
        case 'h':
            fputs(options->xsnap ? xsnap_compat_usage : usage, stdout);
            return true;
        case 'n':
            puts("deprecated");
            return true;
        default:
            *ended = -1;
            if (!take_option(options, option))
                return false;
        }
    }
    return true;
}

static int run_loop(void *options)
{
    return loop_run(options);
}

static int run_on_own_stack(struct loop_options *options)
{
    struct error error;
    int status;

    if (own_stack_run(run_loop, options, &status, &error) == 0)
        return status;
    log_line("%s", error.text);
    return WORKER_EXIT_HOST_MEMORY;
}

int worker_command_line(int argc, char **argv, const struct engine_ops *ops)
{
    struct loop_options options = {
        .in = FROM_SUPERVISOR,
        .out = TO_SUPERVISOR,
        .frame_cap = NETSTRING_CAP_DEFAULT,
        .ops = ops,
    };
    int ended = -1;

    log_name("gaspipe-worker");
    if (argc > 0 && xsnap_compat_is_name(argv[0]))
        be_xsnap(&options);
    if (!take_options(&options, argc, argv, &ended)) {
        if (options.xsnap)
            fputs(xsnap_compat_usage, stdout);
        return WORKER_EXIT_USAGE;
    }
    if (ended >= 0)
        return ended;
    /* If the supervisor exited, the write fails with EPIPE, which can be reported. */
    signal(SIGPIPE, SIG_IGN);
    if (check_descriptor(FROM_SUPERVISOR) != 0 || check_descriptor(TO_SUPERVISOR) != 0)
        return WORKER_EXIT_IO;
    return run_on_own_stack(&options);
}
