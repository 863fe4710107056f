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
#include "supervisor/process/agent_environment.h"
#include "supervisor/process/locate.h"

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

static int locate_worker(struct launcher *launcher, struct counters counters, struct error *error)
{
    const char *const name =
        counters.by_function ? "gaspipe-worker-metered-profile" : "gaspipe-worker-metered";

    if (!counters.compiled)
        return locate("gaspipe-worker", launcher->worker, error);
    if (locate(name, launcher->worker, error) == 0)
        return 0;
    return error_set(error, ERROR_SYSTEM,
                     "--counter compiled needs %s, which is not there: install clang-19, "
                     "llvm-19-dev and lld-19, then run make %s",
                     name, counters.by_function ? "metered-profile" : "metered");
}

/* The worker of such contracts; with the meter, one that has it, where there is one. Native
 * contracts bring their own profile. */
static const char *name_of_other(enum launcher_contracts contracts, const struct launcher *launcher)
{
    if (contracts == LAUNCHER_NATIVE_CODE)
        return launcher->metered ? "gaspipe-worker-native-metered" : "gaspipe-worker-native";
    if (launcher->by_function)
        return "gaspipe-worker-wasm-metered-profile";
    return launcher->metered ? "gaspipe-worker-wasm-metered" : "gaspipe-worker-wasm";
}

static const char *why_missing(enum launcher_contracts contracts, const struct launcher *launcher)
{
    if (contracts == LAUNCHER_NATIVE_CODE)
        return launcher->metered
                   ? "gaspipe-worker-native-metered, which runs native contracts with --counter "
                     "compiled, is not beside gaspipe: make metered builds it"
                   : "gaspipe-worker-native, which runs native contracts, is not beside gaspipe";
    if (launcher->by_function)
        return "gaspipe-worker-wasm-metered-profile, which runs WebAssembly with --counter "
               "compiled and --native-profile, is not beside gaspipe: make metered-profile builds "
               "it";
    return launcher->metered
               ? "gaspipe-worker-wasm-metered, which runs WebAssembly with --counter compiled, is "
                 "not beside gaspipe: make metered builds it"
               : "gaspipe-worker-wasm, which runs WebAssembly, is not beside gaspipe";
}

/* Only a vat of such contracts asks for it, so its absence is said when one starts. */
static int find_others(struct launcher *launcher, struct error *error)
{
    struct error ignored;

    for (int i = 0; i < LAUNCHER_CONTRACTS; i++) {
        struct launcher_worker *other = &launcher->others[i];

        other->program_fd = -1;
        if (locate(name_of_other(i, launcher), other->path, &ignored) != 0) {
            other->path[0] = '\0';
            continue;
        }
        if (launcher->counted)
            other->program_fd = guest_open_program(other->path, error);
        if (launcher->counted && other->program_fd < 0)
            return -1;
    }
    return 0;
}

int launcher_open(struct launcher *launcher, struct counters counters, uint32_t compute_limit,
                  struct error *error)
{
    memset(launcher, 0, sizeof *launcher);
    launcher->counted = counters.qemu;
    launcher->metered = counters.compiled;
    launcher->by_function = counters.by_function;
    launcher->compute_limit = compute_limit;
    launcher->program_fd = -1;
    for (int i = 0; i < LAUNCHER_CONTRACTS; i++)
        launcher->others[i].program_fd = -1;
    if (locate_worker(launcher, counters, error) != 0)
        return -1;
    if (!counters.qemu)
        return find_others(launcher, error);
    if (guest_find_tools(&launcher->tools, error) != 0 ||
        guest_pin_layout(&launcher->tools, error) != 0)
        return -1;
    launcher->program_fd = guest_open_program(launcher->worker, error);
    return launcher->program_fd < 0 ? -1 : find_others(launcher, error);
}

int launcher_open_foreign(struct launcher *launcher, const char *path, uint32_t compute_limit,
                          struct error *error)
{
    struct stat status;

    *launcher = (struct launcher){
        .foreign = true,
        .compute_limit = compute_limit,
        .program_fd = -1,
        .missing = "that worker runs no such contracts",
        .others = LAUNCHER_NO_WORKERS,
    };
    if (raise_stack_limit(error) != 0)
        return -1;
    /* Workers are started in another folder than the one that the path is seen from. */
    if (realpath(path, launcher->worker) == NULL)
        return error_set(error, ERROR_INPUT, "%s: %m", path);
    if (stat(launcher->worker, &status) == 0 && !S_ISREG(status.st_mode))
        return error_set(error, ERROR_INPUT, "%s is not a program's file", path);
    if (access(launcher->worker, X_OK) != 0)
        return error_set(error, ERROR_INPUT, "%s: may not be executed: %m", path);
    return 0;
}

struct launcher launcher_native(const struct launcher *launcher)
{
    struct launcher native = *launcher;

    native.counted = false;
    native.trace = native.native_profile = NULL; /* it serves to prepare others */
    native.instruction_limit = 0;
    native.program_fd = -1;
    for (int i = 0; i < LAUNCHER_CONTRACTS; i++)
        native.others[i].program_fd = -1;
    return native;
}

struct launcher launcher_for(const struct launcher *launcher, enum launcher_contracts contracts)
{
    const struct launcher_worker *other = &launcher->others[contracts];
    struct launcher chosen = *launcher;

    memcpy(chosen.worker, other->path, sizeof chosen.worker);
    chosen.missing = why_missing(contracts, launcher);
    chosen.program_fd = other->program_fd;
    if (contracts == LAUNCHER_WASM)
        chosen.compute_limit = launcher->wasm_compute_limit;
    if (contracts == LAUNCHER_NATIVE_CODE && launcher->cost_by_default)
        chosen.cost_limit = 0;
    return chosen;
}

static void close_program(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

void launcher_close(struct launcher *launcher)
{
    close_program(&launcher->program_fd);
    for (int i = 0; i < LAUNCHER_CONTRACTS; i++)
        close_program(&launcher->others[i].program_fd);
}

static bool is_confined(const struct launcher *launcher)
{
    return launcher->confinement != NULL && launcher->confinement->level != CONFINEMENT_OFF;
}

/* The worker; or the zygote, and NULL. */
static struct worker_process *start_process(const struct launcher *launcher, uv_loop_t *loop,
                                            const struct worker_launch *launch,
                                            const struct worker_listener *listener,
                                            struct error *error)
{
    if (launcher->zygote == NULL)
        return worker_process_start(loop, launch, listener, error);
    *launcher->zygote = worker_process_breed(launch, error);
    return NULL;
}

/* In the sandbox, and in the control group. */
static struct worker_process *start_confined(const struct launcher *launcher, uv_loop_t *loop,
                                             const struct worker_launch *launch, const char *group,
                                             const struct worker_listener *listener,
                                             struct error *error)
{
    const char *const programs[] = {launcher->worker,
                                    launcher->counted ? launcher->tools.plugin : NULL, NULL};
    const struct confinement_terms terms = {
        .programs = programs,
        .traced = launch->trace_fd > 0,
        .forks = launcher->zygote != NULL,
        .preload = launcher->trace != NULL ? launcher->trace->agent : NULL,
        .group = group[0] != '\0' ? group : NULL,
    };
    struct worker_launch wrapped = *launch;
    struct worker_process *process;
    char **arguments;

    arguments = confinement_wrap(launcher->confinement, launch->path, launch->arguments, &terms);
    if (arguments == NULL) {
        error_memory(error, "the command line of a worker");
        return NULL;
    }
    wrapped.path = launcher->confinement->launcher;
    wrapped.arguments = arguments;
    wrapped.group = group;
    process = start_process(launcher, loop, &wrapped, listener, error);
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
static struct worker_process *start_launcher(const struct launcher *launcher, uv_loop_t *loop,
                                             const struct worker_launch *launch,
                                             const struct worker_listener *listener,
                                             struct error *error)
{
    struct worker_process *process;
    char group[PATH_MAX];

    if (!is_confined(launcher))
        return start_process(launcher, loop, launch, listener, error);
    if (launcher->zygote != NULL)
        return start_confined(launcher, loop, launch, "", listener, error);
    if (control_group_make(&launcher->confinement->groups, group_memory(launch), group, error) != 0)
        return NULL;
    process = start_confined(launcher, loop, launch, group, listener, error);
    if (process == NULL)
        control_group_end(group);
    return process;
}

/* With the agent in it, which the sandbox preloads where there is one. */
static struct worker_process *start_traced(const struct launcher *launcher, uv_loop_t *loop,
                                           const struct worker_launch *launch, const char *name,
                                           const struct worker_listener *listener,
                                           struct error *error)
{
    const struct launcher_trace *const trace = launcher->trace;
    struct worker_launch traced = *launch;
    struct worker_process *process = NULL;
    char **environment = agent_environment(is_confined(launcher) ? NULL : trace->agent,
                                           WORKER_TRACE_FD, (char *const *)launch->environment);

    if (environment == NULL) {
        error_memory(error, "the environment of a worker");
        return NULL;
    }
    traced.environment = (const char *const *)environment;
    traced.trace_fd = trace->begin(trace->context, launcher->worker, name, error);
    if (traced.trace_fd >= 0)
        process = start_launcher(launcher, loop, &traced, listener, error);
    free(environment);
    return process;
}

#define STRING_OF(x)        STRING_OF_TOKENS(x)
#define STRING_OF_TOKENS(x) #x

/* Its meter writes a profile of each delivery. */
static struct worker_process *start_profiled(const struct launcher *launcher, uv_loop_t *loop,
                                             const struct worker_launch *launch, const char *name,
                                             const struct worker_listener *listener,
                                             struct error *error)
{
    static const char regions[] = "GASMETER_REGIONS=" STRING_OF(WORKER_TRACE_FD);
    const struct launcher_trace *const profile = launcher->native_profile;
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
    profiled.trace_fd = profile->begin(profile->context, launcher->worker, name, error);
    if (profiled.trace_fd >= 0)
        process = start_launcher(launcher, loop, &profiled, listener, error);
    free(environment);
    return process;
}

static struct worker_process *start_native(const struct launcher *launcher, uv_loop_t *loop,
                                           char **arguments, const char *name, int snapshot_fd,
                                           const struct worker_listener *listener,
                                           struct error *error)
{
    struct worker_launch launch = {
        .path = launcher->worker,
        .arguments = arguments,
        .environment = guest_environment(),
        .program_fd = -1,
        .snapshot_fd = snapshot_fd,
        .frame_cap = NETSTRING_CAP_UP,
        .memory_limit = launcher->memory_limit,
    };

    while (*arguments != NULL)
        arguments++;
    *arguments = (char *)name;
    if (launcher->trace != NULL)
        return start_traced(launcher, loop, &launch, name, listener, error);
    if (launcher->native_profile != NULL)
        return start_profiled(launcher, loop, &launch, name, listener, error);
    return start_launcher(launcher, loop, &launch, listener, error);
}

static const char profile_option[] = "profile-fd=" STRING_OF(WORKER_TRACE_FD);

/* The name does not reach the guest, where it would shift the stack: it stands
 * in front of QEMU's own command line. */
static struct worker_process *start_counted(const struct launcher *launcher, uv_loop_t *loop,
                                            char **arguments, const char *name, int snapshot_fd,
                                            const struct worker_listener *listener,
                                            struct error *error)
{
    const struct launcher_trace *const profile = launcher->native_profile;
    struct guest_program program = {
        .arguments = (const char *const *)arguments,
        .plugin_options = profile != NULL ? profile_option : NULL,
    };
    struct worker_process *process = NULL;
    struct guest_command command;
    struct worker_launch launch;
    char *argument0;
    int fd = 0;

    if (profile != NULL &&
        (fd = profile->begin(profile->context, launcher->worker, name, error)) < 0)
        return NULL;
    if (guest_command_build(&command, &launcher->tools, &program, error) != 0)
        return NULL;
    launch = (struct worker_launch){
        .path = command.path,
        .arguments = command.arguments,
        .environment = command.environment,
        .program_fd = launcher->program_fd,
        .snapshot_fd = snapshot_fd,
        .trace_fd = fd,
        .frame_cap = NETSTRING_CAP_UP,
        .memory_limit = launcher->memory_limit,
    };
    argument0 = command.arguments[0];
    command.arguments[0] = (char *)name;
    process = start_launcher(launcher, loop, &launch, listener, error);
    command.arguments[0] = argument0;
    guest_command_free(&command);
    return process;
}

static struct worker_process *start_placed(const struct launcher *launcher, uv_loop_t *loop,
                                           char **arguments, const char *name, int snapshot_fd,
                                           const struct worker_listener *listener,
                                           struct error *error)
{
    struct worker_process *process;
    struct error problem;

    if (launcher->placement != NULL && placement_begin_start(launcher->placement, error) != 0)
        return NULL;
    if (launcher->counted)
        process = start_counted(launcher, loop, arguments, name, snapshot_fd, listener, error);
    else
        process = start_native(launcher, loop, arguments, name, snapshot_fd, listener, error);
    /* It was there before: should it be taken away meanwhile, this process stays
     * where the worker is. */
    if (launcher->placement != NULL && placement_end_start(launcher->placement, &problem) != 0)
        log_line("%s", problem.text);
    return process;
}

/* -1: the snapshot cannot be read from its beginning. A pipe has no other. */
static int rewind_snapshot(int fd, struct error *error)
{
    if (fd < 0 || lseek(fd, 0, SEEK_SET) == 0 || errno == ESPIPE)
        return 0;
    return error_system(error, errno, "cannot read a snapshot");
}

/* An option with its number, unless that is 0; how many arguments it took. */
static size_t launcher_put_number(char **arguments, const char *option, char text[16],
                                  uint32_t number)
{
    if (number == 0)
        return 0;
    snprintf(text, 16, "%" PRIu32, number);
    arguments[0] = (char *)option;
    arguments[1] = text;
    return 2;
}

/* What a worker is started with. Of one length whatever the limits are, for the same reason as the
 * name. */
struct words {
    char computrons[16], instructions[24], cost[24], heap[24], interval[16], parser[16];
    char *arguments[24];
};

static size_t put_ours(const struct launcher *launcher, struct words *words, char **arguments)
{
    /* These two are as long as each other, so that a zygote's stack is a worker's. */
    char *const ours[] = {launcher->zygote != NULL ? "--fork-on-request" : "--die-with-parent",
                          "--report-stops",
                          "--max-heap",
                          words->heap,
                          "--max-instructions",
                          words->instructions};
    size_t count = sizeof ours / sizeof *ours;

    memcpy(arguments, ours, sizeof ours);
    if (launcher->metered) {
        arguments[count++] = "--max-cost";
        arguments[count++] = words->cost;
    }
    if (is_confined(launcher))
        arguments[count++] = "--confine";
    if (launcher->profile)
        arguments[count++] = "--profile";
    return count;
}

/* The words are all zeros. */
static void put_words(const struct launcher *launcher, bool from_snapshot, struct words *words)
{
    char **next = words->arguments;

    snprintf(words->computrons, sizeof words->computrons, "%010u", launcher->compute_limit);
    snprintf(words->instructions, sizeof words->instructions, "%020" PRIu64,
             launcher->instruction_limit);
    snprintf(words->cost, sizeof words->cost, "%020" PRIu64, launcher->cost_limit);
    snprintf(words->heap, sizeof words->heap, "%020" PRIu64, launcher->heap_limit);
    *next++ = "gaspipe-worker";
    *next++ = "-l";
    *next++ = words->computrons;
    next += launcher_put_number(next, "-i", words->interval, launcher->compute_interval);
    next += launcher_put_number(next, "-s", words->parser, launcher->parser_kb);
    if (from_snapshot) {
        *next++ = "-r";
        *next++ = WORKER_SNAPSHOT_PLACE;
    }
    if (!launcher->foreign)
        (void)put_ours(launcher, words, next);
}

/* ---- forking one ---- */

/* Moving a process into a group that limits it takes longer than executing one within it, and a
 * group without limits holds nothing that the filters leave open. */
static bool is_limited_by_group(const struct launcher *launcher)
{
    const struct control_groups *groups = &launcher->confinement->groups;

    return groups->folder[0] != '\0' && (groups->limit_memory || groups->limit_processes);
}

/* Who traces one, or takes its counter's profile, is there from the beginning. */
static bool may_be_forked(const struct launcher *launcher)
{
    return launcher->zygote_policy != NULL && !launcher->foreign && launcher->trace == NULL &&
           launcher->native_profile == NULL &&
           !(is_confined(launcher) && is_limited_by_group(launcher));
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

static struct zygote *breed(const struct launcher *launcher, uv_loop_t *loop, int snapshot_fd,
                            struct error *error)
{
    const int own_fd = open_again(snapshot_fd);
    struct launcher breeder = *launcher;
    struct zygote *zygote = NULL;
    struct words words = {0};

    _Static_assert(sizeof zygote_name == sizeof((struct fork_request *)0)->name, "its length");
    breeder.zygote = &zygote;
    put_words(&breeder, true, &words);
    if (own_fd < 0)
        return NULL;
    (void)start_placed(&breeder, loop, words.arguments, zygote_name, own_fd, NULL, error);
    close(own_fd);
    return zygote;
}

/* NULL: it is to be executed, and the snapshot to be read from its beginning. */
static struct worker_process *start_forked(const struct launcher *launcher, uv_loop_t *loop,
                                           char *const *arguments, const char *name,
                                           int snapshot_fd, const struct worker_listener *listener)
{
    struct zygote_policy *policy = launcher->zygote_policy;
    enum zygote_choice choice = zygote_policy_choose(policy, arguments);
    struct worker_launch launch = {
        .frame_cap = NETSTRING_CAP_UP,
        .memory_limit = launcher->memory_limit,
        .name = name,
    };
    struct worker_process *process;
    struct error ignored; /* it is met again when the worker is executed */

    if (choice == ZYGOTE_START) {
        zygote_policy_keep(policy, breed(launcher, loop, snapshot_fd, &ignored), arguments);
        choice = zygote_policy_choose(policy, arguments);
    }
    if (choice != ZYGOTE_FORK)
        return NULL;
    launch.zygote = policy->zygote;
    process = worker_process_start(loop, &launch, listener, &ignored);
    if (process == NULL)
        zygote_policy_give_up(policy);
    return process;
}

static struct worker_process *start_forked_placed(const struct launcher *launcher, uv_loop_t *loop,
                                                  char *const *arguments, const char *name,
                                                  int snapshot_fd,
                                                  const struct worker_listener *listener)
{
    struct worker_process *process;
    struct error problem;

    if (launcher->placement != NULL && placement_begin_start(launcher->placement, &problem) != 0)
        return NULL;
    process = start_forked(launcher, loop, arguments, name, snapshot_fd, listener);
    if (launcher->placement != NULL && placement_end_start(launcher->placement, &problem) != 0)
        log_line("%s", problem.text);
    return process;
}

struct worker_process *launcher_start_from(const struct launcher *launcher, uv_loop_t *loop,
                                           const char *name, int snapshot_fd,
                                           const struct worker_listener *listener,
                                           struct error *error)
{
    struct worker_process *process = NULL;
    struct words words = {0};

    if (launcher->worker[0] == '\0') {
        error_set(error, ERROR_SYSTEM, "%s", launcher->missing);
        return NULL;
    }
    if (rewind_snapshot(snapshot_fd, error) != 0)
        return NULL;
    put_words(launcher, snapshot_fd >= 0, &words);
    if (may_be_forked(launcher) && snapshot_fd >= 0)
        process = start_forked_placed(launcher, loop, words.arguments, name, snapshot_fd, listener);
    if (process != NULL || rewind_snapshot(snapshot_fd, error) != 0)
        return process;
    return start_placed(launcher, loop, words.arguments, name, snapshot_fd, listener, error);
}

struct worker_process *launcher_start(const struct launcher *launcher, uv_loop_t *loop,
                                      const char *name, const struct worker_listener *listener,
                                      struct error *error)
{
    return launcher_start_from(launcher, loop, name, -1, listener, error);
}
