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
#include "sandbox/contract_filter.h"
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

#ifdef __x86_64__
#define FOREIGN_WORKERS ""
#else
/* The counter counts x86-64 programs on every machine, so that the number is the same. */
#define FOREIGN_WORKERS "x86_64/"
#endif

/* They run under QEMU even where nothing is counted. */
static bool has_foreign_workers(const struct launch_config *config)
{
    return config->counted && FOREIGN_WORKERS[0] != '\0';
}

static int locate_worker(const struct launch_config *config, const char *name, char path[PATH_MAX],
                         struct error *error)
{
    char foreign[64];

    if (!has_foreign_workers(config))
        return locate(name, path, error);
    snprintf(foreign, sizeof foreign, FOREIGN_WORKERS "%s", name);
    if (locate(foreign, path, error) == 0)
        return 0;
    return error_set(
        error, ERROR_SYSTEM,
        "--counter qemu counts workers for x86-64 on every machine: copy %s of a build "
        "for x86-64 into x86_64/ beside gaspipe, or use --counter none or compiled",
        name);
}

static int locate_javascript(struct launch_config *config, struct error *error)
{
    char *const path = config->workers[LAUNCHER_JAVASCRIPT].path;
    const char *const name =
        config->by_function ? "gaspipe-worker-metered-profile" : "gaspipe-worker-metered";

    if (!config->metered)
        return locate_worker(config, "gaspipe-worker", path, error);
    if (locate(name, path, error) == 0)
        return 0;
    return error_set(error, ERROR_SYSTEM,
                     "--counter compiled needs %s, which is not there: install clang-19, "
                     "llvm-19-dev and lld-19, then run make %s",
                     name, config->by_function ? "metered-profile" : "metered");
}

/* The worker of such contracts: the metered one with --counter compiled. Native contracts bring
 * their own profile. */
static const char *worker_program_name(const struct launch_config *config,
                                       enum launcher_program program)
{
    if (program == LAUNCHER_NATIVE_CODE)
        return config->metered ? "gaspipe-worker-native-metered" : "gaspipe-worker-native";
    if (config->by_function)
        return "gaspipe-worker-wasm-metered-profile";
    return config->metered ? "gaspipe-worker-wasm-metered" : "gaspipe-worker-wasm";
}

static const char *why_program_missing(const struct launch_config *config,
                                       enum launcher_program program)
{
    if (config->xsnap_options_only)
        return "the worker of --worker runs JavaScript only";
    if (program == LAUNCHER_NATIVE_CODE)
        return config->metered
                   ? "gaspipe-worker-native-metered, which runs native contracts with --counter "
                     "compiled, is not next to gaspipe: make metered builds it"
                   : "gaspipe-worker-native, which runs native contracts, is not next to gaspipe";
    if (config->by_function)
        return "gaspipe-worker-wasm-metered-profile, which runs WebAssembly with --counter "
               "compiled and --native-profile, is not next to gaspipe: make metered-profile builds "
               "it";
    return config->metered
               ? "gaspipe-worker-wasm-metered, which runs WebAssembly with --counter compiled, is "
                 "not next to gaspipe: make metered builds it"
               : "gaspipe-worker-wasm, which runs WebAssembly, is not next to gaspipe";
}

const char *launcher_find(const struct launch_config *config, enum launcher_program program,
                          struct error *error)
{
    const char *const path = config->workers[program].path;

    if (path[0] != '\0')
        return path;
    error_set(error, ERROR_SYSTEM, "%s", why_program_missing(config, program));
    return NULL;
}

/* Only a vat of such contracts asks for the others, so their absence is reported when one starts.
 */
static void find_other_workers(struct launch_config *config)
{
    struct error ignored;

    for (int i = LAUNCHER_JAVASCRIPT + 1; i < LAUNCHER_PROGRAMS; i++)
        if (locate_worker(config, worker_program_name(config, i), config->workers[i].path,
                          &ignored) != 0)
            config->workers[i].path[0] = '\0';
}

static int open_worker_programs(struct launch_config *config, struct error *error)
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
    find_other_workers(config);
    if (!counters.qemu)
        return 0;
    if (guest_find_tools(&config->tools, error) != 0 ||
        guest_pin_layout(&config->tools, error) != 0)
        return -1;
    return open_worker_programs(config, error);
}

int launcher_open_xsnap(struct launch_config *config, const char *path, uint32_t compute_limit,
                        struct error *error)
{
    char *const worker = config->workers[LAUNCHER_JAVASCRIPT].path;
    struct stat status;

    memset(config, 0, sizeof *config);
    config->xsnap_options_only = true;
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
    struct zygote **zygote;  /* where a new one goes; NULL: a worker is started */
    char compiled[PATH_MAX]; /* its contract's machine code; "": none */
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
    *starting->zygote = worker_process_start_zygote(launch, error);
    return NULL;
}

/* In the sandbox, and in the control group. */
static struct worker_process *start_confined(const struct starting *starting,
                                             const struct worker_launch *launch, const char *group,
                                             struct error *error)
{
    const char *const programs[] = {starting->worker->path,
                                    starting->counted               ? starting->config->tools.plugin
                                    : starting->compiled[0] != '\0' ? starting->compiled
                                                                    : NULL,
                                    NULL};
    const struct confinement_terms terms = {
        .programs = programs,
        .traced = launch->trace_fd > 0,
        .forks = starting->zygote != NULL,
        .preload = starting->trace != NULL ? starting->trace->agent : NULL,
        .group = group[0] != '\0' ? group : NULL,
    };
    struct worker_launch wrapped = *launch;
    struct worker_process *process = NULL;
    struct command_line line = {0};

    confinement_wrap(&line, starting->config->confinement, launch->path, launch->arguments, &terms);
    wrapped.path = starting->config->confinement->launcher;
    wrapped.arguments = line.words;
    wrapped.group = group;
    if (command_line_check(&line, error) == 0)
        process = start_process(starting, &wrapped, error);
    command_line_free(&line);
    return process;
}

/*
 * The group's memory also has the worker's program, its page tables and what is in its pipes. At
 * twice the worker's own limit, the worker meets that one first and can report it.
 */
static uint64_t group_memory(const struct worker_launch *launch)
{
    return launch->memory_limit > UINT64_MAX / 2 ? 0 : 2 * launch->memory_limit;
}

/* In the sandbox, unless that is off. */
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

#define STRING_OF(x)        STRING_OF_TOKENS(x)
#define STRING_OF_TOKENS(x) #x

/* With memory that it shares with a tracer, or into which its meter writes. */
static struct worker_process *start_observed(const struct starting *starting,
                                             const struct worker_launch *launch,
                                             const struct launcher_trace *observer,
                                             const struct command_line *environment,
                                             struct error *error)
{
    struct worker_launch observed = *launch;

    if (command_line_check(environment, error) != 0)
        return NULL;
    observed.environment = (const char *const *)environment->words;
    observed.trace_fd =
        observer->begin(observer->context, starting->worker->path, starting->start->name, error);
    return observed.trace_fd >= 0 ? start_launcher(starting, &observed, error) : NULL;
}

/* With the agent in it, which the sandbox preloads where there is one. */
static struct worker_process *start_traced(const struct starting *starting,
                                           const struct worker_launch *launch, struct error *error)
{
    const struct launcher_trace *const trace = starting->trace;
    struct command_line environment = {0};
    struct worker_process *process;

    agent_environment(&environment, is_confined(starting) ? NULL : trace->agent, WORKER_TRACE_FD,
                      (char *const *)launch->environment);
    process = start_observed(starting, launch, trace, &environment, error);
    command_line_free(&environment);
    return process;
}

/* Its meter writes a profile of each delivery. */
static struct worker_process *start_profiled(const struct starting *starting,
                                             const struct worker_launch *launch,
                                             struct error *error)
{
    struct command_line environment = {0};
    struct worker_process *process;

    for (const char *const *variable = launch->environment; *variable != NULL; variable++)
        command_line_add(&environment, "%s", *variable);
    command_line_add(&environment, "GASMETER_REGIONS=%d", WORKER_TRACE_FD);
    process = start_observed(starting, launch, starting->native_profile, &environment, error);
    command_line_free(&environment);
    return process;
}

/*
 * A contract in native code takes memory as its worker does, with no engine in between. Memory that
 * it maps in the place of a reservation passes RLIMIT_DATA, but not the limit of addresses.
 */
static void launch_limit_memory(struct worker_launch *launch, const struct starting *starting)
{
    /* Without a contract, a worker and QEMU reserve less. */
    const uint64_t reserved = (uint64_t)2 << 30;
    const struct launch_config *const config = starting->config;

    launch->memory_limit = config->memory_limit;
    /* AddressSanitizer reserves terabytes of addresses. */
    if (starting->start->program != LAUNCHER_NATIVE_CODE || SANDBOX_SANITIZED)
        return;
    if (launch->memory_limit == 0)
        launch->memory_limit =
            LAUNCHER_NATIVE_MEMORY +
            (starting->start->limits != NULL ? starting->start->limits : &config->limits)->heap;
    if (launch->memory_limit < UINT64_MAX - reserved)
        launch->address_limit = launch->memory_limit + reserved;
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
    };

    launch_limit_memory(&launch, starting);
    while (*arguments != NULL)
        arguments++;
    *arguments = (char *)starting->start->name;
    if (starting->trace != NULL)
        return start_traced(starting, &launch, error);
    if (starting->native_profile != NULL)
        return start_profiled(starting, &launch, error);
    return start_launcher(starting, &launch, error);
}

static struct worker_process *start_counted(const struct starting *starting, char **arguments,
                                            struct error *error)
{
    static const char profile_option[] = "profile-fd=" STRING_OF(WORKER_TRACE_FD);
    const struct launcher_trace *const profile = starting->native_profile;
    const struct guest_tools *tools = &starting->config->tools;
    const struct guest_program program = {
        .arguments = (const char *const *)arguments,
        .name = starting->start->name,
        .plugin_options = profile != NULL ? profile_option : NULL,
    };
    struct worker_launch launch = {
        .path = tools->qemu,
        .environment = guest_environment(),
        .program_fd = starting->worker->program_fd,
        .snapshot_fd = starting->start->snapshot_fd,
        .frame_cap = NETSTRING_CAP_UP,
    };
    struct worker_process *process = NULL;
    struct command_line line = {0};

    if (profile != NULL &&
        (launch.trace_fd = profile->begin(profile->context, starting->worker->path,
                                          starting->start->name, error)) < 0)
        return NULL;
    launch_limit_memory(&launch, starting);
    if (guest_command_line(&line, tools, &program, error) == 0) {
        launch.arguments = line.words;
        process = start_launcher(starting, &launch, error);
    }
    command_line_free(&line);
    return process;
}

static struct worker_process *start_executed(const struct starting *starting, char **arguments,
                                             struct error *error)
{
    return starting->counted ? start_counted(starting, arguments, error)
                             : start_native(starting, arguments, error);
}

/* Calls start() on the CPU where the worker is to run. */
static struct worker_process *
start_on_cpu(const struct starting *starting, char **arguments, struct error *error,
             struct worker_process *(*start)(const struct starting *, char **, struct error *))
{
    const struct placement *placement = starting->config->placement;
    struct worker_process *process;
    struct error problem;

    if (placement != NULL && placement_begin_start(placement, error) != 0)
        return NULL;
    process = start(starting, arguments, error);
    /* This process was on its CPU before; if that is gone meanwhile, it stays where the worker is.
     */
    if (placement != NULL && placement_end_start(placement, &problem) != 0)
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

/* A worker's arguments. Limits are padded to one length: a longer argument would shift the stack of
 * a counted worker, and so its count. */
struct words {
    char computrons[16], instructions[24], cost[24], heap[24];
    char *arguments[24];
};

static void put_own_options(const struct starting *starting, struct words *words, char **arguments)
{
    /* These two are as long as each other, so that a zygote's stack is a worker's. */
    char *const own[] = {starting->zygote != NULL ? "--fork-on-request" : "--die-with-parent",
                         "--report-stops",
                         "--max-heap",
                         words->heap,
                         "--max-instructions",
                         words->instructions};
    size_t count = sizeof own / sizeof *own;

    memcpy(arguments, own, sizeof own);
    if (starting->config->metered) {
        arguments[count++] = "--max-cost";
        arguments[count++] = words->cost;
    }
    if (is_confined(starting))
        arguments[count++] = "--confine";
    if (starting->config->profile)
        arguments[count++] = "--profile";
    if (starting->compiled[0] != '\0') {
        arguments[count++] = "--compiled";
        arguments[count++] = (char *)starting->compiled;
    }
}

/* The words are all zeros. */
static void put_worker_arguments(const struct starting *starting, struct words *words)
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
    if (!starting->config->xsnap_options_only)
        put_own_options(starting, words, next);
}

/* ---- forking one ---- */

/* Moving a process into a group that limits it takes longer than executing one within it, and a
 * group without limits holds nothing that the filters leave open. */
static bool is_limited_by_group(const struct starting *starting)
{
    const struct control_groups *groups = &starting->config->confinement->groups;

    return groups->directory[0] != '\0' && (groups->limit_memory || groups->limit_processes);
}

/* A tracer, and what takes the counter's profile, must be there from the worker's beginning. */
static bool may_be_forked(const struct starting *starting)
{
    return starting->start->policy != NULL && !starting->config->xsnap_options_only &&
           starting->trace == NULL && starting->native_profile == NULL &&
           !(is_confined(starting) && is_limited_by_group(starting));
}

/* As long as a worker's name can be, which overwrites it. */
static const char zygote_name[] = "gaspipe-worker:zygote                                          ";

/* Opens the file again, with a position of its own: another worker may be reading it. Or -1. */
static int reopen_snapshot(int snapshot_fd)
{
    char path[32];

    snprintf(path, sizeof path, "/proc/self/fd/%d", snapshot_fd);
    return open(path, O_RDONLY | O_CLOEXEC);
}

static struct zygote *start_zygote(const struct starting *starting, struct error *error)
{
    const int own_fd = reopen_snapshot(starting->start->snapshot_fd);
    struct worker_start start = *starting->start;
    struct starting first = *starting;
    struct zygote *zygote = NULL;
    struct words words = {0};

    _Static_assert(sizeof zygote_name == sizeof((struct fork_request *)0)->name, "its length");
    start.name = zygote_name;
    start.listener = NULL;
    if (own_fd < 0)
        return NULL;
    start.snapshot_fd = own_fd;
    first.start = &start;
    first.zygote = &zygote;
    put_worker_arguments(&first, &words);
    (void)start_on_cpu(&first, words.arguments, error, start_executed);
    close(own_fd);
    return zygote;
}

/* NULL: the worker has to be executed, with the snapshot read from its beginning; the error does
 * not matter then. */
static struct worker_process *start_forked(const struct starting *starting, char **arguments,
                                           struct error *error)
{
    struct zygote_policy *policy = starting->start->policy;
    enum zygote_choice choice = zygote_policy_choose(policy, arguments);
    struct worker_launch launch = {
        .frame_cap = NETSTRING_CAP_UP,
        .memory_limit = starting->config->memory_limit,
        .name = starting->start->name,
    };
    struct worker_process *process;

    if (choice == ZYGOTE_START) {
        zygote_policy_keep(policy, start_zygote(starting, error), arguments);
        choice = zygote_policy_choose(policy, arguments);
    }
    if (choice != ZYGOTE_FORK)
        return NULL;
    launch.zygote = policy->zygote;
    process =
        worker_process_start(starting->start->loop, &launch, starting->start->listener, error);
    if (process == NULL)
        zygote_policy_give_up(policy);
    return process;
}

/* A contract without a file is interpreted. */
static void find_compiled(struct starting *starting)
{
    const char *directory = starting->config->compiled, *bundle_id = starting->start->bundle_id;
    const size_t size = sizeof starting->compiled;

    if (directory == NULL || bundle_id == NULL || starting->start->program != LAUNCHER_WASM ||
        (size_t)snprintf(starting->compiled, size, "%s/%s.so", directory, bundle_id) >= size ||
        access(starting->compiled, R_OK) != 0)
        starting->compiled[0] = '\0';
}

struct worker_process *launcher_start(const struct launch_config *config,
                                      const struct worker_start *start, struct error *error)
{
    struct starting starting = {
        .config = config,
        .start = start,
        .worker = &config->workers[start->program],
        .limits = start->limits != NULL ? *start->limits : launcher_limits(config, start->program),
        .counted = config->counted && (!start->uncounted || has_foreign_workers(config)),
        .trace = start->uncounted ? NULL : config->trace,
        .native_profile = start->uncounted ? NULL : config->native_profile,
    };
    struct worker_process *process = NULL;
    struct words words = {0};

    if (launcher_find(config, start->program, error) == NULL ||
        rewind_snapshot(start->snapshot_fd, error) != 0)
        return NULL;
    find_compiled(&starting);
    put_worker_arguments(&starting, &words);
    if (may_be_forked(&starting) && start->snapshot_fd >= 0)
        process = start_on_cpu(&starting, words.arguments, error, start_forked);
    if (process != NULL || rewind_snapshot(start->snapshot_fd, error) != 0)
        return process;
    return start_on_cpu(&starting, words.arguments, error, start_executed);
}
