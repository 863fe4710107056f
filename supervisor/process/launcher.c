/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/process/launcher.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "proto/netstring.h"
#include "supervisor/process/guest.h"

/*
 * xsnap-worker ends a contract's recursion by what is left of its stack. What it does must not
 * depend on the host: it gets Linux's usual 8 MiB or is not started. The limit is inherited.
 * gaspipe's own workers need none (worker/own_stack.h).
 */
static int raise_stack_limit(struct error *error)
{
    const rlim_t wanted = 8 << 20;
    struct rlimit limit, raised;

    if (getrlimit(RLIMIT_STACK, &limit) != 0)
        return error_system(error, errno, "cannot read the stack's limit");
    if (limit.rlim_cur >= wanted)
        return 0;
    raised = (struct rlimit){
        .rlim_cur = wanted,
        .rlim_max = limit.rlim_max < wanted ? wanted : limit.rlim_max,
    };
    if (setrlimit(RLIMIT_STACK, &raised) == 0)
        return 0;
    return error_set(error, ERROR_SYSTEM,
                     "the stack is limited to %" PRIu64 " KiB, and xsnap-worker needs %" PRIu64
                     "; raise the hard limit (ulimit -Hs %" PRIu64 ")",
                     (uint64_t)limit.rlim_max / 1024, (uint64_t)wanted / 1024,
                     (uint64_t)wanted / 1024);
}

static int locate_javascript(struct launch_config *config, struct error *error)
{
    char *const path = config->workers[LAUNCHER_JAVASCRIPT].path;
    const char *const name =
        config->by_function ? "gaspipe-worker-metered-profile" : "gaspipe-worker-metered";

    if (!config->metered)
        return locate("gaspipe-worker", path, error);
    if (locate(name, path, error) == 0)
        return 0;
    return error_set(error, ERROR_SYSTEM,
                     "--counter compiled needs %s, which is not there: install clang-19, "
                     "llvm-19-dev and lld-19, then run make %s",
                     name, config->by_function ? "metered-profile" : "metered");
}

/* The worker of such contracts; with the meter, one that has it, where there is one. Native
 * contracts bring their own profile. */
static const char *name_of(const struct launch_config *config, enum launcher_program program)
{
    if (program == LAUNCHER_NATIVE_CODE)
        return config->metered ? "gaspipe-worker-native-metered" : "gaspipe-worker-native";
    if (config->by_function)
        return "gaspipe-worker-wasm-metered-profile";
    return config->metered ? "gaspipe-worker-wasm-metered" : "gaspipe-worker-wasm";
}

static const char *why_missing(const struct launch_config *config, enum launcher_program program)
{
    if (config->foreign)
        return "that worker runs no such contracts";
    if (program == LAUNCHER_NATIVE_CODE)
        return config->metered
                   ? "gaspipe-worker-native-metered, which runs native contracts with --counter "
                     "compiled, is not beside gaspipe: make metered builds it"
                   : "gaspipe-worker-native, which runs native contracts, is not beside gaspipe";
    if (config->by_function)
        return "gaspipe-worker-wasm-metered-profile, which runs WebAssembly with --counter "
               "compiled and --native-profile, is not beside gaspipe: make metered-profile builds "
               "it";
    return config->metered
               ? "gaspipe-worker-wasm-metered, which runs WebAssembly with --counter compiled, is "
                 "not beside gaspipe: make metered builds it"
               : "gaspipe-worker-wasm, which runs WebAssembly, is not beside gaspipe";
}

const char *launcher_find(const struct launch_config *config, enum launcher_program program,
                          struct error *error)
{
    const char *const path = config->workers[program].path;

    if (path[0] != '\0')
        return path;
    error_set(error, ERROR_SYSTEM, "%s", why_missing(config, program));
    return NULL;
}

/* Only a vat of such contracts asks for the others, so their absence is reported when one starts.
 */
static void find_others(struct launch_config *config)
{
    struct error ignored;

    for (int i = LAUNCHER_JAVASCRIPT + 1; i < LAUNCHER_PROGRAMS; i++)
        if (locate(name_of(config, i), config->workers[i].path, &ignored) != 0)
            config->workers[i].path[0] = '\0';
}

static int open_programs(struct launch_config *config, struct error *error)
{
    for (int i = 0; i < LAUNCHER_PROGRAMS; i++) {
        struct launcher_worker *worker = &config->workers[i];

        if (worker->path[0] == '\0')
            continue;
        worker->program_fd = guest_open_program(worker->path, error);
        if (worker->program_fd < 0)
            return -1;
    }
    return 0;
}

static void set_unopened(struct launch_config *config)
{
    for (int i = 0; i < LAUNCHER_PROGRAMS; i++)
        config->workers[i].program_fd = -1;
}

int launcher_open(struct launch_config *config, struct counters counters, uint32_t compute_limit,
                  struct error *error)
{
    memset(config, 0, sizeof *config);
    config->counted = counters.qemu;
    config->metered = counters.compiled;
    config->by_function = counters.by_function;
    config->limits.compute = compute_limit;
    set_unopened(config);
    if (locate_javascript(config, error) != 0)
        return -1;
    find_others(config);
    if (!counters.qemu)
        return 0;
    if (guest_find_tools(&config->tools, error) != 0 ||
        guest_pin_layout(&config->tools, error) != 0)
        return -1;
    return open_programs(config, error);
}

int launcher_open_foreign(struct launch_config *config, const char *path, uint32_t compute_limit,
                          struct error *error)
{
    char *const worker = config->workers[LAUNCHER_JAVASCRIPT].path;
    struct stat status;

    memset(config, 0, sizeof *config);
    config->foreign = true;
    config->limits.compute = compute_limit;
    set_unopened(config);
    if (raise_stack_limit(error) != 0)
        return -1;
    /* Workers are started in another directory than the one that the path is seen from. */
    if (realpath(path, worker) == NULL)
        return error_set(error, ERROR_INPUT, "%s: %m", path);
    if (stat(worker, &status) == 0 && !S_ISREG(status.st_mode))
        return error_set(error, ERROR_INPUT, "%s is not a program's file", path);
    if (access(worker, X_OK) != 0)
        return error_set(error, ERROR_INPUT, "%s: may not be executed: %m", path);
    return 0;
}

void launcher_close(struct launch_config *config)
{
    for (int i = 0; i < LAUNCHER_PROGRAMS; i++) {
        if (config->workers[i].program_fd >= 0)
            close(config->workers[i].program_fd);
        config->workers[i].program_fd = -1;
    }
}

struct worker_limits launcher_limits(const struct launch_config *config,
                                     enum launcher_program program)
{
    struct worker_limits limits = config->limits;

    if (program == LAUNCHER_WASM)
        limits.compute = config->wasm_compute;
    if (program == LAUNCHER_NATIVE_CODE && config->cost_by_default)
        limits.cost = 0;
    return limits;
}

/* ---- one start ---- */

struct starting {
    const struct launch_config *config;
    const struct worker_start *start;
    const struct launcher_worker *worker;
    struct worker_limits limits;
    bool counted;
    const struct launcher_trace *trace, *native_profile; /* NULL: none */
    struct zygote **zygote; /* where a new one goes; NULL: a worker is started */
};

static bool is_confined(const struct starting *starting)
{
    return starting->config->confinement != NULL &&
           starting->config->confinement->level != CONFINEMENT_OFF;
}

/* The worker; or the zygote, and NULL. */
static struct worker_process *start_process(const struct starting *starting,
                                            const struct worker_launch *launch, struct error *error)
{
    if (starting->zygote == NULL)
        return worker_process_start(starting->start->loop, launch, starting->start->listener,
                                    error);
    *starting->zygote = worker_process_breed(launch, error);
    return NULL;
}

/* In the sandbox, and in the control group. */
static struct worker_process *start_confined(const struct starting *starting,
                                             const struct worker_launch *launch, const char *group,
                                             struct error *error)
{
    const char *const programs[] = {
        starting->worker->path, starting->counted ? starting->config->tools.plugin : NULL, NULL};
    const struct confinement_terms terms = {
        .programs = programs,
        .traced = launch->trace_fd > 0,
        .forks = starting->zygote != NULL,
        .preload = starting->trace != NULL ? starting->trace->agent : NULL,
        .group = group[0] != '\0' ? group : NULL,
    };
    struct worker_launch wrapped = *launch;
    struct worker_process *process;
    char **arguments;

    arguments =
        confinement_wrap(starting->config->confinement, launch->path, launch->arguments, &terms);
    if (arguments == NULL) {
        error_memory(error, "the command line of a worker");
        return NULL;
    }
    wrapped.path = starting->config->confinement->launcher;
    wrapped.arguments = arguments;
    wrapped.group = group;
    process = start_process(starting, &wrapped, error);
    free(arguments);
    return process;
}

/*
 * Beside what it may write to, a worker's group has its program, its pages' tables and what is in
 * its pipes: before it gets there, its own limit tells it.
 */
static uint64_t group_memory(const struct worker_launch *launch)
{
    return launch->memory_limit > UINT64_MAX / 2 ? 0 : 2 * launch->memory_limit;
}

/* As the launch has it, or in the sandbox. */
static struct worker_process *start_launcher(const struct starting *starting,
                                             const struct worker_launch *launch,
                                             struct error *error)
{
    struct worker_process *process;
    char group[PATH_MAX];

    if (!is_confined(starting))
        return start_process(starting, launch, error);
    if (starting->zygote != NULL)
        return start_confined(starting, launch, "", error);
    if (control_group_make(&starting->config->confinement->groups, group_memory(launch), group,
                           error) != 0)
        return NULL;
    process = start_confined(starting, launch, group, error);
    if (process == NULL)
        control_group_end(group);
    return process;
}

/* With the agent in it, which the sandbox preloads where there is one. */
static struct worker_process *start_traced(const struct starting *starting,
                                           const struct worker_launch *launch, struct error *error)
{
    const struct launcher_trace *const trace = starting->trace;
    struct worker_launch traced = *launch;
    struct worker_process *process = NULL;
    char **environment = agent_environment(is_confined(starting) ? NULL : trace->agent,
                                           WORKER_TRACE_FD, (char *const *)launch->environment);

    if (environment == NULL) {
        error_memory(error, "the environment of a worker");
        return NULL;
    }
    traced.environment = (const char *const *)environment;
    traced.trace_fd =
        trace->begin(trace->context, starting->worker->path, starting->start->name, error);
    if (traced.trace_fd >= 0)
        process = start_launcher(starting, &traced, error);
    free(environment);
    return process;
}

#define STRING_OF(x)        STRING_OF_TOKENS(x)
#define STRING_OF_TOKENS(x) #x

/* Its meter writes a profile of each delivery. */
static struct worker_process *start_profiled(const struct starting *starting,
                                             const struct worker_launch *launch,
                                             struct error *error)
{
    static const char regions[] = "GASMETER_REGIONS=" STRING_OF(WORKER_TRACE_FD);
    const struct launcher_trace *const profile = starting->native_profile;
    struct worker_launch profiled = *launch;
    struct worker_process *process = NULL;
    size_t count = 0;
    const char **environment;

    while (launch->environment[count] != NULL)
        count++;
    environment = malloc((count + 2) * sizeof *environment);
    if (environment == NULL) {
        error_memory(error, "the environment of a worker");
        return NULL;
    }
    memcpy(environment, launch->environment, count * sizeof *environment);
    environment[count] = regions;
    environment[count + 1] = NULL;
    profiled.environment = environment;
    profiled.trace_fd =
        profile->begin(profile->context, starting->worker->path, starting->start->name, error);
    if (profiled.trace_fd >= 0)
        process = start_launcher(starting, &profiled, error);
    free(environment);
    return process;
}

static struct worker_process *start_native(const struct starting *starting, char **arguments,
                                           struct error *error)
{
    struct worker_launch launch = {
        .path = starting->worker->path,
        .arguments = arguments,
        .environment = guest_environment(),
        .program_fd = -1,
        .snapshot_fd = starting->start->snapshot_fd,
        .frame_cap = NETSTRING_CAP_UP,
        .memory_limit = starting->config->memory_limit,
    };

    while (*arguments != NULL)
        arguments++;
    *arguments = (char *)starting->start->name;
    if (starting->trace != NULL)
        return start_traced(starting, &launch, error);
    if (starting->native_profile != NULL)
        return start_profiled(starting, &launch, error);
    return start_launcher(starting, &launch, error);
}

static const char profile_option[] = "profile-fd=" STRING_OF(WORKER_TRACE_FD);

/* The name does not reach the guest, where it would shift the stack: it stands
 * in front of QEMU's own command line. */
static struct worker_process *start_counted(const struct starting *starting, char **arguments,
                                            struct error *error)
{
    const struct launcher_trace *const profile = starting->native_profile;
    struct guest_program program = {
        .arguments = (const char *const *)arguments,
        .plugin_options = profile != NULL ? profile_option : NULL,
    };
    struct worker_process *process = NULL;
    struct guest_command command;
    struct worker_launch launch;
    char *argument0;
    int fd = 0;

    if (profile != NULL && (fd = profile->begin(profile->context, starting->worker->path,
                                                starting->start->name, error)) < 0)
        return NULL;
    if (guest_command_build(&command, &starting->config->tools, &program, error) != 0)
        return NULL;
    launch = (struct worker_launch){
        .path = command.path,
        .arguments = command.arguments,
        .environment = command.environment,
        .program_fd = starting->worker->program_fd,
        .snapshot_fd = starting->start->snapshot_fd,
        .trace_fd = fd,
        .frame_cap = NETSTRING_CAP_UP,
        .memory_limit = starting->config->memory_limit,
    };
    argument0 = command.arguments[0];
    command.arguments[0] = (char *)starting->start->name;
    process = start_launcher(starting, &launch, error);
    command.arguments[0] = argument0;
    guest_command_free(&command);
    return process;
}

static struct worker_process *start_placed(const struct starting *starting, char **arguments,
                                           struct error *error)
{
    struct worker_process *process;
    struct error problem;

    if (starting->config->placement != NULL &&
        placement_begin_start(starting->config->placement, error) != 0)
        return NULL;
    if (starting->counted)
        process = start_counted(starting, arguments, error);
    else
        process = start_native(starting, arguments, error);
    /* It was there before: should it be taken away meanwhile, this process stays
     * where the worker is. */
    if (starting->config->placement != NULL &&
        placement_end_start(starting->config->placement, &problem) != 0)
        log_line("%s", problem.text);
    return process;
}

/* -1: the snapshot cannot be read from its beginning. */
static int rewind_snapshot(int fd, struct error *error)
{
    if (fd < 0 || lseek(fd, 0, SEEK_SET) == 0)
        return 0;
    return error_system(error, errno, "cannot read a snapshot");
}

/* What a worker is started with. Of one length whatever the limits are, for the same reason as the
 * name. */
struct words {
    char computrons[16], instructions[24], cost[24], heap[24];
    char *arguments[24];
};

static size_t put_ours(const struct starting *starting, struct words *words, char **arguments)
{
    /* These two are as long as each other, so that a zygote's stack is a worker's. */
    char *const ours[] = {starting->zygote != NULL ? "--fork-on-request" : "--die-with-parent",
                          "--report-stops",
                          "--max-heap",
                          words->heap,
                          "--max-instructions",
                          words->instructions};
    size_t count = sizeof ours / sizeof *ours;

    memcpy(arguments, ours, sizeof ours);
    if (starting->config->metered) {
        arguments[count++] = "--max-cost";
        arguments[count++] = words->cost;
    }
    if (is_confined(starting))
        arguments[count++] = "--confine";
    if (starting->config->profile)
        arguments[count++] = "--profile";
    return count;
}

/* The words are all zeros. */
static void put_words(const struct starting *starting, struct words *words)
{
    char **next = words->arguments;

    snprintf(words->computrons, sizeof words->computrons, "%010u", starting->limits.compute);
    snprintf(words->instructions, sizeof words->instructions, "%020" PRIu64,
             starting->limits.instructions);
    snprintf(words->cost, sizeof words->cost, "%020" PRIu64, starting->limits.cost);
    snprintf(words->heap, sizeof words->heap, "%020" PRIu64, starting->limits.heap);
    *next++ = "gaspipe-worker";
    *next++ = "-l";
    *next++ = words->computrons;
    if (starting->start->snapshot_fd >= 0) {
        *next++ = "-r";
        *next++ = WORKER_SNAPSHOT_PLACE;
    }
    if (!starting->config->foreign)
        (void)put_ours(starting, words, next);
}

/* ---- forking one ---- */

/* Moving a process into a group that limits it takes longer than executing one within it, and a
 * group without limits holds nothing that the filters leave open. */
static bool is_limited_by_group(const struct starting *starting)
{
    const struct control_groups *groups = &starting->config->confinement->groups;

    return groups->folder[0] != '\0' && (groups->limit_memory || groups->limit_processes);
}

/* Who traces one, or takes its counter's profile, is there from the beginning. */
static bool may_be_forked(const struct starting *starting)
{
    return starting->start->policy != NULL && !starting->config->foreign &&
           starting->trace == NULL && starting->native_profile == NULL &&
           !(is_confined(starting) && is_limited_by_group(starting));
}

/* As long as a worker's name can be, which overwrites it. */
static const char zygote_name[] = "gaspipe-worker:zygote                                          ";

/* With a position of its own: somebody else may be reading it meanwhile. -1 where it has none. */
static int open_again(int snapshot_fd)
{
    char path[32];

    snprintf(path, sizeof path, "/proc/self/fd/%d", snapshot_fd);
    return open(path, O_RDONLY | O_CLOEXEC);
}

static struct zygote *breed(const struct starting *starting, struct error *error)
{
    const int own_fd = open_again(starting->start->snapshot_fd);
    struct worker_start start = *starting->start;
    struct starting breeder = *starting;
    struct zygote *zygote = NULL;
    struct words words = {0};

    _Static_assert(sizeof zygote_name == sizeof((struct fork_request *)0)->name, "its length");
    start.name = zygote_name;
    start.listener = NULL;
    if (own_fd < 0)
        return NULL;
    start.snapshot_fd = own_fd;
    breeder.start = &start;
    breeder.zygote = &zygote;
    put_words(&breeder, &words);
    (void)start_placed(&breeder, words.arguments, error);
    close(own_fd);
    return zygote;
}

/* NULL: it is to be executed, and the snapshot to be read from its beginning. */
static struct worker_process *start_forked(const struct starting *starting, char *const *arguments)
{
    struct zygote_policy *policy = starting->start->policy;
    enum zygote_choice choice = zygote_policy_choose(policy, arguments);
    struct worker_launch launch = {
        .frame_cap = NETSTRING_CAP_UP,
        .memory_limit = starting->config->memory_limit,
        .name = starting->start->name,
    };
    struct worker_process *process;
    struct error ignored; /* it is met again when the worker is executed */

    if (choice == ZYGOTE_START) {
        zygote_policy_keep(policy, breed(starting, &ignored), arguments);
        choice = zygote_policy_choose(policy, arguments);
    }
    if (choice != ZYGOTE_FORK)
        return NULL;
    launch.zygote = policy->zygote;
    process =
        worker_process_start(starting->start->loop, &launch, starting->start->listener, &ignored);
    if (process == NULL)
        zygote_policy_give_up(policy);
    return process;
}

static struct worker_process *start_forked_placed(const struct starting *starting,
                                                  char *const *arguments)
{
    struct worker_process *process;
    struct error problem;

    if (starting->config->placement != NULL &&
        placement_begin_start(starting->config->placement, &problem) != 0)
        return NULL;
    process = start_forked(starting, arguments);
    if (starting->config->placement != NULL &&
        placement_end_start(starting->config->placement, &problem) != 0)
        log_line("%s", problem.text);
    return process;
}

struct worker_process *launcher_start(const struct launch_config *config,
                                      const struct worker_start *start, struct error *error)
{
    const struct starting starting = {
        .config = config,
        .start = start,
        .worker = &config->workers[start->program],
        .limits = start->limits != NULL ? *start->limits : launcher_limits(config, start->program),
        .counted = config->counted && !start->uncounted,
        .trace = start->uncounted ? NULL : config->trace,
        .native_profile = start->uncounted ? NULL : config->native_profile,
    };
    struct worker_process *process = NULL;
    struct words words = {0};

    if (launcher_find(config, start->program, error) == NULL ||
        rewind_snapshot(start->snapshot_fd, error) != 0)
        return NULL;
    put_words(&starting, &words);
    if (may_be_forked(&starting) && start->snapshot_fd >= 0)
        process = start_forked_placed(&starting, words.arguments);
    if (process != NULL || rewind_snapshot(start->snapshot_fd, error) != 0)
        return process;
    return start_placed(&starting, words.arguments, error);
}
