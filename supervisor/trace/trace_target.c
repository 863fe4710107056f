/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/trace/trace_target.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "supervisor/process/child_process.h"
#include "supervisor/process/guest.h"
#include "supervisor/trace/trace_obstacles.h"
#include "supervisor/trace/trace_restore.h"
#include "supervisor/trace/trace_stacks.h"
#include "supervisor/trace/trace_threads.h"

enum { RING_FD = 3 };

/* ---- whether the agent can be preloaded ---- */

static bool has_interpreter(int fd, const Elf64_Ehdr *head)
{
    Elf64_Phdr segment;

    for (int i = 0; i < head->e_phnum; i++)
        if (pread(fd, &segment, sizeof segment,
                  (off_t)(head->e_phoff + (uint64_t)i * head->e_phentsize)) == sizeof segment &&
            segment.p_type == PT_INTERP)
            return true;
    return false;
}

/* Returns true if the file has a section that Go's linker writes. Of an executable that can be
 * moved, the table's name begins differently, and other linkers merge it. */
static bool is_go(int fd, const Elf64_Ehdr *head)
{
    static const char *const sections[] = {".gopclntab", ".data.rel.ro.gopclntab", ".go.buildinfo",
                                           ".note.go.buildid"};
    Elf64_Shdr names, section;
    char name[32] = "";

    if (pread(fd, &names, sizeof names, (off_t)(head->e_shoff + head->e_shstrndx * sizeof names)) !=
        sizeof names)
        return false;
    for (unsigned i = 0; i < head->e_shnum; i++) {
        if (pread(fd, &section, sizeof section, (off_t)(head->e_shoff + i * sizeof section)) !=
                sizeof section ||
            pread(fd, name, sizeof name - 1, (off_t)(names.sh_offset + section.sh_name)) <= 0)
            continue;
        for (size_t k = 0; k < sizeof sections / sizeof *sections; k++)
            if (strcmp(name, sections[k]) == 0)
                return true;
    }
    return false;
}

/* 0 if the dynamic linker starts this program, so that the agent can be preloaded. */
static int trace_child_check(const char *program, struct error *error)
{
    const int fd = open(program, O_RDONLY | O_CLOEXEC);
    Elf64_Ehdr head = {0};
    struct stat status;
    int result = 0;

    if (fd < 0 || fstat(fd, &status) != 0 || pread(fd, &head, sizeof head, 0) < 0)
        result = error_set(error, ERROR_INPUT, "%s: %m", program);
    else if (memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_machine != EM_X86_64)
        result = error_set(error, ERROR_INPUT,
                           "%s is not a program for x86-64; of a script, trace the interpreter",
                           program);
    else if (is_go(fd, &head))
        result = error_set(error, ERROR_INPUT,
                           "%s is written in Go, whose runtime ends a program when it finds a "
                           "trampoline on a stack",
                           program);
    else if (!has_interpreter(fd, &head))
        result = error_set(error, ERROR_INPUT,
                           "%s is linked statically: no agent can be preloaded into it", program);
    else if ((status.st_mode & (S_ISUID | S_ISGID)) != 0)
        result =
            error_set(error, ERROR_INPUT,
                      "%s changes its user or group: no agent can be preloaded into it", program);
    if (fd >= 0)
        close(fd);
    return result;
}

int trace_machine_check(struct error *error)
{
    (void)error;
    return 0;
}

/* ---- the start ---- */

int trace_child_start(struct trace_child *child, const char *program, char *const *arguments,
                      int ring_fd, struct error *error)
{
    const int fds[] = {0, 1, 2, ring_fd};
    char agent[PATH_MAX];
    struct child_launch launch = {
        .path = program,
        .arguments = arguments,
        .fds = fds,
        .fd_count = sizeof fds / sizeof *fds,
        .in_same_group = true,
    };
    struct command_line environment = {0};
    int result;

    if (trace_child_check(program, error) != 0 || locate("libgastrace.so", agent, error) != 0)
        return -1;
    agent_environment(&environment, agent, RING_FD, environ);
    launch.environment = environment.words;
    result = command_line_check(&environment, error);
    if (result == 0)
        result = child_process_spawn(&launch, &child->pid, error);
    command_line_free(&environment);
    if (result != 0)
        return -1;
    child->pidfd = pidfd_open(child->pid, 0);
    return child->pidfd >= 0 ? 0 : error_system(error, errno, "cannot watch %s", program);
}

int trace_child_wait(struct trace_child *child, int milliseconds, int *status, struct error *error)
{
    struct pollfd end = {.fd = child->pidfd, .events = POLLIN};
    int result;

    if (poll(&end, 1, milliseconds) <= 0)
        return 0;
    if (child_process_reap(child->pid, &result, error) != 0)
        return -1;
    close(child->pidfd);
    *status = WIFSIGNALED(result) ? 128 + WTERMSIG(result) : WEXITSTATUS(result);
    return 1;
}

enum {
    TRIES = 120,
    TRY_MS = 2, /* and longer from try to try: on a busy machine the process hardly gets on */
    TRY_MS_MOST = 50,
    END_MS = 5000, /* a process that is killed is gone by then */
    RTLD_NOW_VALUE = 2,
};

/* ---- where its functions are ---- */

/* The C library of the process, and the agent of an earlier trace; "": none. */
struct process_map {
    char libc[PATH_MAX], agent[PATH_MAX];
    uint64_t libc_base, agent_base;
};

static int read_map(pid_t process, struct process_map *map, struct error *error)
{
    char path[64], line[PATH_MAX + 128], file[PATH_MAX];
    unsigned long begin, offset;
    FILE *maps;

    snprintf(path, sizeof path, "/proc/%d/maps", process);
    maps = fopen(path, "re");
    if (maps == NULL)
        return error_set(error, ERROR_INPUT, "process %d cannot be traced: %m", process);
    while (fgets(line, sizeof line, maps) != NULL) {
        /* NOLINTNEXTLINE(cert-err34-c): Linux writes numbers there */
        if (sscanf(line, "%lx-%*x %*s %lx %*s %*s %4095[^\n]", &begin, &offset, file) != 3)
            continue;
        if (map->libc_base == 0 && offset == 0 && strstr(file, "/libc.so.6") != NULL) {
            map->libc_base = begin;
            snprintf(map->libc, sizeof map->libc, "%s", file);
        }
        if (map->agent_base == 0 && offset == 0 && strstr(file, "/libgastrace.so") != NULL) {
            map->agent_base = begin;
            snprintf(map->agent, sizeof map->agent, "%s", file);
        }
    }
    fclose(maps);
    if (map->libc_base != 0)
        return 0;
    return error_set(error, ERROR_INPUT,
                     "process %d cannot be traced: it has not loaded glibc's libc.so.6", process);
}

/* The address of a function or variable in a file that is loaded at `base`, or 0. */
static uint64_t find_symbol(const char *path, uint64_t base, const char *name)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    uint64_t value = 0;
    Elf *elf;

    elf_version(EV_CURRENT);
    elf = fd >= 0 ? elf_begin(fd, ELF_C_READ_MMAP, NULL) : NULL;
    if (elf != NULL) {
        value = trace_exported_symbol(elf, name);
        elf_end(elf);
    }
    if (fd >= 0)
        close(fd);
    return value == 0 ? 0 : base + value;
}

static uint64_t libc_function(const struct process_map *map, const char *name)
{
    return find_symbol(map->libc, map->libc_base, name);
}

/* Bytes of the process's memory; -1: they cannot be read. */
static ssize_t read_memory(pid_t process, uint64_t address, void *bytes, size_t size)
{
    char path[64];
    ssize_t got;
    int fd;

    snprintf(path, sizeof path, "/proc/%d/mem", process);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    got = pread(fd, bytes, size, (off_t)address);
    close(fd);
    return got;
}

/* The address of a `syscall` instruction: in the C library's function of that name. */
static uint64_t find_instruction(pid_t process, const struct process_map *map)
{
    static const uint8_t instruction[] = {0x0f, 0x05};
    const uint64_t function = libc_function(map, "syscall");
    uint8_t bytes[64];
    const ssize_t got = function != 0 ? read_memory(process, function, bytes, sizeof bytes) : -1;
    const uint8_t *const found =
        got > 0 ? memmem(bytes, (size_t)got, instruction, sizeof instruction) : NULL;

    return found != NULL ? function + (uint64_t)(found - bytes) : 0;
}

/* The address of the memory of a trace that has not ended, or 0. */
static uint64_t find_earlier_trace(pid_t process, const struct process_map *map)
{
    const uint64_t place =
        map->agent_base != 0 ? find_symbol(map->agent, map->agent_base, "gastrace_head") : 0;
    uint64_t head;

    return place != 0 && read_memory(process, place, &head, sizeof head) == sizeof head ? head : 0;
}

/* ---- calls ---- */

struct attaching {
    struct trace_attached *attached;
    struct trace_threads threads;
    struct process_map map;
    uint64_t dlsym, handle, instruction;
};

/* If the thread may hold a lock, lets it continue for a moment and tries again. */
static int call(struct attaching *attaching, struct trace_injection injection, uint64_t *result,
                struct error *error)
{
    const pid_t process = attaching->attached->process;
    struct timespec moment = {.tv_nsec = TRY_MS * 1000000};

    injection.instruction = attaching->instruction;
    for (int i = 0; i < TRIES; i++) {
        const int called = trace_threads_call(&attaching->threads, &injection, result, error);

        if (called <= 0)
            return called;
        trace_threads_release(&attaching->threads);
        (void)nanosleep(&moment, NULL);
        if (moment.tv_nsec < TRY_MS_MOST * 1000000)
            moment.tv_nsec += TRY_MS * 1000000;
        if (trace_threads_stop(&attaching->threads, process, error) != 0)
            return -1;
    }
    return error_set(error, ERROR_INPUT,
                     "process %d cannot be traced: all its threads stay in signal handlers, the "
                     "C library, or code without unwind tables",
                     process);
}

static int call_agent(struct attaching *attaching, const char *name, uint64_t argument,
                      int (*wait)(void *context, struct error *error), uint64_t *result,
                      struct error *error)
{
    const struct trace_injection find = {
        .function = attaching->dlsym, .first = attaching->handle, .text = name};
    uint64_t function;

    if (call(attaching, find, &function, error) != 0)
        return -1;
    if (function == 0)
        return error_set(error, ERROR_SYSTEM, "libgastrace.so has no %s()", name);
    return call(
        attaching,
        (struct trace_injection){
            .function = function, .first = argument, .wait = wait, .context = attaching->attached},
        result, error);
}

static int load_agent(struct attaching *attaching, struct error *error)
{
    const uint64_t dlopen_address = libc_function(&attaching->map, "dlopen");
    char agent[PATH_MAX];

    attaching->dlsym = libc_function(&attaching->map, "dlsym");
    if (locate("libgastrace.so", agent, error) != 0)
        return -1;
    if (dlopen_address == 0 || attaching->dlsym == 0 || attaching->instruction == 0)
        return error_set(error, ERROR_INPUT, "%s has no dlopen() or syscall()",
                         attaching->map.libc);
    if (call(attaching,
             (struct trace_injection){
                 .function = dlopen_address, .second = RTLD_NOW_VALUE, .text = agent},
             &attaching->handle, error) != 0)
        return -1;
    return attaching->handle != 0 ? 0
                                  : error_set(error, ERROR_INPUT, "process %d cannot load %s",
                                              attaching->attached->process, agent);
}

/* ---- memory ---- */

static int open_target_memory(struct attaching *attaching, const struct trace_ring_options *options,
                              uint64_t *descriptor, struct error *error)
{
    struct trace_attached *const attached = attaching->attached;
    char path[64];
    int fd;

    if (call_agent(attaching, "gastrace_memory", 0, NULL, descriptor, error) != 0)
        return -1;
    if ((int32_t)*descriptor < 0)
        return error_set(error, ERROR_INPUT,
                         "process %d cannot be traced: it cannot make a file in memory",
                         attached->process);
    snprintf(path, sizeof path, "/proc/%d/fd/%d", attached->process, (int32_t)*descriptor);
    fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return error_system(error, errno, "cannot open the memory of process %d",
                            attached->process);
    attached->ring = trace_ring_new(options, fd, error);
    return attached->ring != NULL ? 0 : -1;
}

/* If the sink fails, the agent is started nevertheless, and then detached: a thread that were taken
 * out of it would leave it half started. */
static int step_attached_ring(void *context, struct error *error)
{
    struct trace_attached *const attached = context;
    bool busy;

    (void)error;
    if (trace_ring_step(attached->ring, attached->sink, &busy, &attached->failure) != 0)
        attached->failed = true;
    return 0;
}

static int start_agent(struct attaching *attaching, const struct trace_ring_options *options,
                       struct error *error)
{
    struct trace_attached *const attached = attaching->attached;
    uint64_t descriptor, result;

    if (open_target_memory(attaching, options, &descriptor, error) != 0 ||
        call_agent(attaching, "gastrace_start", descriptor, step_attached_ring, &result, error) !=
            0)
        return -1;
    if ((int32_t)result == 0 && trace_ring_plan(attached->ring) != NULL)
        return 0;
    return error_set(error, ERROR_INPUT, "process %d cannot be traced: %s", attached->process,
                     trace_ring_attach_check(attached->ring));
}

/* ---- text ---- */

static int open_text(pid_t process, struct error *error)
{
    char path[64];
    int fd;

    snprintf(path, sizeof path, "/proc/%d/mem", process);
    fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return error_system(error, errno, "cannot write into process %d", process);
    return fd;
}

static bool text_is(int fd, const struct trace_patch *patch, const uint8_t *wanted)
{
    uint8_t bytes[5];

    return pread(fd, bytes, sizeof bytes, (off_t)patch->address) == sizeof bytes &&
           memcmp(bytes, wanted, sizeof bytes) == 0;
}

static int write_target_patches(const struct trace_attached *attached, int fd, struct error *error)
{
    const struct trace_head *const head = trace_ring_head(attached->ring);
    const struct trace_patch *const patches =
        (const struct trace_patch *)((const char *)head +
                                     trace_ring_layout(attached->ring)->patches_at);
    const size_t count = trace_ring_patches(attached->ring);

    for (size_t i = 0; i < count; i++)
        if (!text_is(fd, &patches[i], patches[i].before) ||
            pwrite(fd, patches[i].after, 5, (off_t)patches[i].address) != 5)
            return error_set(error, ERROR_INPUT, "process %d: its text is not what its file has",
                             attached->process);
    return 0;
}

/* If a signal handler returns into a patch, lets the threads continue for a moment and tries again.
 */
static int leave_patches(struct attaching *attaching, const struct trace_patch *patches,
                         size_t count, struct error *error)
{
    const struct timespec moment = {.tv_nsec = 1000000};
    const pid_t process = attaching->attached->process;

    for (int i = 0; i < TRIES; i++) {
        const int left = trace_threads_leave(&attaching->threads, patches, count, error);

        if (left <= 0)
            return left;
        trace_threads_release(&attaching->threads);
        (void)nanosleep(&moment, NULL);
        if (trace_threads_stop(&attaching->threads, process, error) != 0)
            return -1;
    }
    return error_set(error, ERROR_INPUT,
                     "process %d cannot be traced: its handlers of signals never return", process);
}

static int patch(struct attaching *attaching, struct error *error)
{
    const struct trace_attached *const attached = attaching->attached;
    const struct trace_head *const head = trace_ring_head(attached->ring);
    const struct trace_patch *const patches =
        (const struct trace_patch *)((const char *)head +
                                     trace_ring_layout(attached->ring)->patches_at);
    const int fd = open_text(attached->process, error);
    int result;

    if (fd < 0)
        return -1;
    result = leave_patches(attaching, patches, trace_ring_patches(attached->ring), error);
    if (result == 0)
        result = write_target_patches(attached, fd, error);
    close(fd);
    return result;
}

/* ---- the whole ---- */

static int check_obstacles(pid_t process, struct error *error)
{
    struct trace_obstacles obstacles;

    if (trace_obstacles_read(&obstacles, process, error) != 0)
        return -1;
    return trace_obstacles_check(&obstacles, process, error);
}

static int find_program(pid_t process, char program[PATH_MAX], struct error *error)
{
    char path[64];
    ssize_t length;

    snprintf(path, sizeof path, "/proc/%d/exe", process);
    length = readlink(path, program, PATH_MAX - 1);
    if (length < 0)
        return error_set(error, ERROR_INPUT, "process %d cannot be traced: %m", process);
    program[length] = '\0';
    return trace_child_check(program, error);
}

/* Waits up to that time, because operations on a process fail before its end is visible. */
static bool has_target_ended(const struct trace_attached *attached, int milliseconds)
{
    struct pollfd end = {.fd = attached->pidfd, .events = POLLIN};

    return poll(&end, 1, milliseconds) > 0;
}

/* A detached thread does not wait for the reader, and would overwrite a full ring. An empty ring
 * has space for the exits of all open calls. */
static int detach_stopped(const struct trace_attached *attached,
                          const struct trace_restoring *restoring, struct error *error)
{
    struct error ignored;
    int result = trace_restore_text(restoring, error);
    bool busy;

    if (trace_ring_step(attached->ring, attached->sink, &busy, result == 0 ? error : &ignored) != 0)
        result = -1;
    trace_ring_detach(attached->ring);
    return result;
}

static int detach(const struct trace_attached *attached, struct error *error)
{
    struct trace_threads threads;
    struct trace_restoring restoring;
    int result = trace_restore_open(&restoring, attached->process,
                                    trace_ring_head(attached->ring)->mapped_at,
                                    attached->instruction, error);

    if (result == 0)
        result = trace_threads_stop(&threads, attached->process, error);
    if (result == 0) {
        result = detach_stopped(attached, &restoring, error);
        trace_threads_release(&threads);
    }
    /* 1: the next trace ends this one. */
    if (result == 0)
        result = trace_restore_calls(&restoring, error);
    trace_restore_close(&restoring);
    return result < 0 ? -1 : 0;
}

/* Ends a trace whose tracer was killed. */
static int end_earlier_trace(const struct attaching *attaching, struct error *error)
{
    const pid_t process = attaching->attached->process;
    const uint64_t head = find_earlier_trace(process, &attaching->map);
    struct trace_restoring restoring;
    struct trace_threads threads;
    int result;

    if (head == 0)
        return 0;
    result = trace_restore_open(&restoring, process, head, attaching->instruction, error);
    if (result == 0 && trace_restore_has_tracer(&restoring))
        result = error_set(error, ERROR_INPUT,
                           "process %d cannot be traced: another gaspipe trace traces it", process);
    if (result == 0)
        result = trace_threads_stop(&threads, process, error);
    if (result == 0) {
        result = trace_restore_text(&restoring, error);
        trace_threads_release(&threads);
    }
    if (result == 0)
        result = trace_restore_calls(&restoring, error);
    trace_restore_close(&restoring);
    if (result <= 0)
        return result;
    return error_set(error, ERROR_INPUT,
                     "process %d cannot be traced: a signal handler that began during an earlier "
                     "trace has not returned; try again later",
                     process);
}

static int attach_stopped(struct attaching *attaching, const struct trace_ring_options *options,
                          struct error *error)
{
    struct trace_attached *const attached = attaching->attached;
    struct error ignored;
    bool started;
    int result;

    attaching->instruction = find_instruction(attached->process, &attaching->map);
    attached->instruction = attaching->instruction;
    if (end_earlier_trace(attaching, error) != 0 ||
        trace_threads_stop(&attaching->threads, attached->process, error) != 0)
        return -1;
    result = load_agent(attaching, error);
    if (result == 0)
        result = start_agent(attaching, options, error);
    started = result == 0;
    if (started && attached->failed) {
        *error = attached->failure;
        result = -1;
    }
    if (result == 0)
        result = patch(attaching, error);
    trace_threads_release(&attaching->threads);
    if (started && result != 0)
        (void)detach(attached, &ignored);
    return result;
}

int trace_attach(struct trace_attached *attached, pid_t process, struct trace_ring_options *options,
                 const struct trace_sink *sink, struct error *error)
{
    static char program[PATH_MAX];
    struct attaching attaching = {.attached = attached};
    int result;

    *attached = (struct trace_attached){.process = process, .pidfd = -1, .sink = sink};
    options->program = program;
    if (check_obstacles(process, error) != 0 || find_program(process, program, error) != 0 ||
        read_map(process, &attaching.map, error) != 0)
        return -1;
    attached->pidfd = pidfd_open(process, 0);
    if (attached->pidfd < 0)
        return error_set(error, ERROR_INPUT, "no process %d", process);
    result = attach_stopped(&attaching, options, error);
    if (result == 0)
        return 0;
    return has_target_ended(attached, 0)
               ? error_set(error, ERROR_INPUT, "process %d ended while it was being traced",
                           process)
               : -1;
}

int trace_detach(struct trace_attached *attached, struct error *error)
{
    if (has_target_ended(attached, 0) || detach(attached, error) == 0)
        return 0;
    return has_target_ended(attached, END_MS) ? 0 : -1;
}
