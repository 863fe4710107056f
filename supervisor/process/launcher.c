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
 * Where a contract's recursion ends depends on the stack, so that must not depend on the host: a
 * worker uses 8 MiB (worker/xs/engine_xs_platform.c uses no more), and gets them or is not
 * started. The limit is inherited.
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
                     "the stack is limited to %" PRIu64 " KiB, and workers need %" PRIu64
                     "; raise the hard limit (ulimit -Hs %" PRIu64 ")",
                     (uint64_t)limit.rlim_max / 1024, (uint64_t)wanted / 1024,
                     (uint64_t)wanted / 1024);
}

static int locate_worker(struct launcher *launcher, bool metered, struct error *error)
{
    if (!metered)
        return locate("gaspipe-worker", launcher->worker, error);
    if (locate("gaspipe-worker-metered", launcher->worker, error) == 0)
        return 0;
    return error_set(error, ERROR_SYSTEM,
                     "--counter compiled needs gaspipe-worker-metered, which is not there: install "
                     "clang-19, llvm-19-dev and lld-19, then run make metered");
}

/* The worker of such contracts; with the meter, one that has it, where there is one. */
static const char *name_of_other(enum launcher_contracts contracts, bool metered)
{
    if (contracts == LAUNCHER_WASM)
        return metered ? "gaspipe-worker-wasm-metered" : "gaspipe-worker-wasm";
    return metered ? "gaspipe-worker-native-metered" : "gaspipe-worker-native";
}

static const char *why_missing(enum launcher_contracts contracts, bool metered)
{
    if (contracts == LAUNCHER_WASM)
        return metered
                   ? "gaspipe-worker-wasm-metered, which runs WebAssembly with --counter compiled, "
                     "is not beside gaspipe: make metered builds it"
                   : "gaspipe-worker-wasm, which runs WebAssembly, is not beside gaspipe";
    return metered ? "gaspipe-worker-native-metered, which runs native contracts with --counter "
                     "compiled, is not beside gaspipe: make metered builds it"
                   : "gaspipe-worker-native, which runs native contracts, is not beside gaspipe";
}

/* Only a vat of such contracts asks for it, so its absence is said when one starts. */
static int find_others(struct launcher *launcher, struct error *error)
{
    struct error ignored;

    for (int i = 0; i < LAUNCHER_CONTRACTS; i++) {
        struct launcher_worker *other = &launcher->others[i];

        other->program_fd = -1;
        if (locate(name_of_other(i, launcher->metered), other->path, &ignored) != 0) {
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
    launcher->compute_limit = compute_limit;
    launcher->program_fd = -1;
    for (int i = 0; i < LAUNCHER_CONTRACTS; i++)
        launcher->others[i].program_fd = -1;
    /* Under the counter QEMU gives the worker a stack of 8 MiB, whatever the limit is. */
    if ((raise_stack_limit(error) != 0 && !counters.qemu) ||
        locate_worker(launcher, counters.compiled, error) != 0)
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
    chosen.missing = why_missing(contracts, launcher->metered);
    chosen.program_fd = other->program_fd;
    if (contracts == LAUNCHER_WASM)
        chosen.compute_limit = launcher->wasm_compute_limit;
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
    process = worker_process_start(loop, &wrapped, listener, error);
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
        return worker_process_start(loop, launch, listener, error);
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
        .frame_cap = NETSTRING_CAP_DEFAULT,
        .memory_limit = launcher->memory_limit,
        .by_turns = true,
    };

    while (*arguments != NULL)
        arguments++;
    *arguments = (char *)name;
    if (launcher->trace != NULL)
        return start_traced(launcher, loop, &launch, name, listener, error);
    return start_launcher(launcher, loop, &launch, listener, error);
}

#define STRING_OF(x)        STRING_OF_TOKENS(x)
#define STRING_OF_TOKENS(x) #x

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
        .frame_cap = NETSTRING_CAP_DEFAULT,
        .memory_limit = launcher->memory_limit,
        .by_turns = true,
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

struct worker_process *launcher_start_from(const struct launcher *launcher, uv_loop_t *loop,
                                           const char *name, int snapshot_fd,
                                           const struct worker_listener *listener,
                                           struct error *error)
{
    /* Of one length whatever the limits are, for the same reason as the name. */
    char computrons[16], instructions[24], cost[24], heap[24], interval[16], parser[16];
    char *ours[] = {"--die-with-parent",  "--report-stops", "--max-heap", heap,
                    "--max-instructions", instructions};
    char *limited[] = {"--max-cost", cost};
    char *from[] = {"-r", WORKER_SNAPSHOT_PLACE};
    char *arguments[24] = {"gaspipe-worker", "-l", computrons};
    size_t count = 3;

    snprintf(computrons, sizeof computrons, "%010u", launcher->compute_limit);
    snprintf(instructions, sizeof instructions, "%020" PRIu64, launcher->instruction_limit);
    snprintf(cost, sizeof cost, "%020" PRIu64, launcher->cost_limit);
    snprintf(heap, sizeof heap, "%020" PRIu64, launcher->heap_limit);
    if (launcher->worker[0] == '\0') {
        error_set(error, ERROR_SYSTEM, "%s", launcher->missing);
        return NULL;
    }
    if (rewind_snapshot(snapshot_fd, error) != 0)
        return NULL;
    count += launcher_put_number(arguments + count, "-i", interval, launcher->compute_interval);
    count += launcher_put_number(arguments + count, "-s", parser, launcher->parser_kb);
    if (snapshot_fd >= 0) {
        memcpy(arguments + count, from, sizeof from);
        count += sizeof from / sizeof from[0];
    }
    if (!launcher->foreign) {
        memcpy(arguments + count, ours, sizeof ours);
        count += sizeof ours / sizeof *ours;
        if (launcher->metered) {
            memcpy(arguments + count, limited, sizeof limited);
            count += sizeof limited / sizeof *limited;
        }
        if (is_confined(launcher))
            arguments[count++] = "--confine";
        if (launcher->profile)
            arguments[count++] = "--profile";
    }
    return start_placed(launcher, loop, arguments, name, snapshot_fd, listener, error);
}

struct worker_process *launcher_start(const struct launcher *launcher, uv_loop_t *loop,
                                      const char *name, const struct worker_listener *listener,
                                      struct error *error)
{
    return launcher_start_from(launcher, loop, name, -1, listener, error);
}
