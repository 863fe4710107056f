/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/trace/trace_threads.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>

#include "base/array.h"

enum {
    STEPS_MAX = 10000,
    BELOW = 4096,       /* bytes of stack left to what was interrupted; its red zone is in them */
    STATE_SIZE = 16384, /* of vector registers, at most */
};

/* ---- stopping ---- */

static bool is_known(const struct trace_threads *threads, pid_t id)
{
    for (size_t i = 0; i < threads->count; i++)
        if (threads->ids[i] == id)
            return true;
    return false;
}

static int trace_threads_refuse(pid_t process, int errnum, struct error *error)
{
    if (errnum == ESRCH)
        return error_set(error, ERROR_INPUT, "there is no process %d", process);
    return error_set(error, ERROR_INPUT,
                     "process %d cannot be traced: %s (another user's, sandboxed or traced by "
                     "another, or see kernel.yama.ptrace_scope)",
                     process, strerror(errnum));
}

/* Waits until the thread has stopped; signals that were on their way are delivered later. */
static int wait_for_stop(pid_t id)
{
    int status;

    while (waitpid(id, &status, __WALL) < 0)
        if (errno != EINTR)
            return -1;
    return WIFSTOPPED(status) ? 0 : -1;
}

static int stop_one(struct trace_threads *threads, pid_t id, struct error *error)
{
    pid_t *const ids =
        array_reserve(threads->ids, &threads->capacity, threads->count + 1, sizeof *ids);

    if (ids == NULL)
        return error_memory(error, "a process's threads");
    threads->ids = ids;
    if (ptrace(PTRACE_SEIZE, id, NULL, NULL) != 0)
        return errno == ESRCH && id != threads->process
                   ? 0
                   : trace_threads_refuse(threads->process, errno, error);
    if (ptrace(PTRACE_INTERRUPT, id, NULL, NULL) == 0 && wait_for_stop(id) == 0)
        ids[threads->count++] = id;
    return 0;
}

/* Those that are there and not stopped yet; *more: there were some. */
static int stop_listed(struct trace_threads *threads, bool *more, struct error *error)
{
    char path[64];
    struct dirent *entry;
    DIR *folder;
    int result = 0;

    snprintf(path, sizeof path, "/proc/%d/task", threads->process);
    folder = opendir(path);
    if (folder == NULL)
        return trace_threads_refuse(threads->process, ESRCH, error);
    /* cppcheck-suppress readdirCalled ; nobody else reads this folder */
    while (result == 0 && (entry = readdir(folder)) != NULL) {
        const pid_t id = (pid_t)strtol(entry->d_name, NULL, 10);

        if (id <= 0 || is_known(threads, id))
            continue;
        *more = true;
        result = stop_one(threads, id, error);
    }
    closedir(folder);
    return result;
}

int trace_threads_stop(struct trace_threads *threads, pid_t process, struct error *error)
{
    bool more = true;

    *threads = (struct trace_threads){.process = process};
    if (stop_one(threads, process, error) != 0)
        return -1;
    while (more) {
        more = false;
        if (stop_listed(threads, &more, error) != 0) {
            trace_threads_release(threads);
            return -1;
        }
    }
    return threads->count > 0 ? 0 : trace_threads_refuse(process, ESRCH, error);
}

void trace_threads_release(struct trace_threads *threads)
{
    for (size_t i = 0; i < threads->count; i++)
        (void)ptrace(PTRACE_DETACH, threads->ids[i], NULL, NULL);
    free(threads->ids);
    *threads = (struct trace_threads){0};
}

/* ---- stepping ---- */

static int lost(const struct trace_threads *threads, struct error *error)
{
    return error_set(error, ERROR_INPUT, "process %d ended while it was being traced",
                     threads->process);
}

static bool is_within(const struct trace_patch *patches, size_t count, uint64_t address)
{
    for (size_t i = 0; i < count; i++)
        if (address > patches[i].address && address < patches[i].address + 5)
            return true;
    return false;
}

int trace_threads_leave(const struct trace_threads *threads, const struct trace_patch *patches,
                        size_t count, struct error *error)
{
    struct user_regs_struct registers;

    for (size_t i = 0; i < threads->count; i++)
        for (int steps = 0; steps < STEPS_MAX; steps++) {
            if (ptrace(PTRACE_GETREGS, threads->ids[i], NULL, &registers) != 0)
                return lost(threads, error);
            if (!is_within(patches, count, registers.rip))
                break;
            if (ptrace(PTRACE_SINGLESTEP, threads->ids[i], NULL, NULL) != 0 ||
                wait_for_stop(threads->ids[i]) != 0)
                return lost(threads, error);
        }
    return 0;
}

/* ---- a call ---- */

struct saved {
    struct user_regs_struct registers;
    uint8_t state[STATE_SIZE];
    struct iovec vectors;
};

static bool save(pid_t id, struct saved *saved)
{
    saved->vectors = (struct iovec){saved->state, sizeof saved->state};
    return ptrace(PTRACE_GETREGS, id, NULL, &saved->registers) == 0 &&
           ptrace(PTRACE_GETREGSET, id, NT_X86_XSTATE, &saved->vectors) == 0;
}

static bool restore(pid_t id, struct saved *saved)
{
    return ptrace(PTRACE_SETREGS, id, NULL, &saved->registers) == 0 &&
           ptrace(PTRACE_SETREGSET, id, NT_X86_XSTATE, &saved->vectors) == 0;
}

/* The function returns to address 0, where it is met again. */
static bool begin_call(pid_t id, const struct saved *saved, const struct trace_injection *injection)
{
    struct user_regs_struct registers = saved->registers;
    const uint64_t zero = 0, room = (registers.rsp - BELOW) & ~UINT64_C(63);
    char text[TRACE_PATH_SIZE] = "";

    if (injection->text != NULL)
        snprintf(text, sizeof text, "%s", injection->text);
    for (size_t i = 0; i < sizeof text; i += sizeof(long)) {
        long word;

        memcpy(&word, text + i, sizeof word);
        if (ptrace(PTRACE_POKEDATA, id, room + i, word) != 0)
            return false;
    }
    if (ptrace(PTRACE_POKEDATA, id, room - 8, zero) != 0)
        return false;
    registers.rdi = injection->text != NULL && injection->first == 0 ? room : injection->first;
    registers.rsi = injection->text != NULL && injection->first != 0 ? room : injection->second;
    registers.rax = 0;
    registers.orig_rax = UINT64_MAX; /* no system call is to be restarted */
    registers.rsp = room - 8;
    registers.rip = injection->function;
    return ptrace(PTRACE_SETREGS, id, NULL, &registers) == 0;
}

/* 1: it has returned; 0: not yet; -1: the process has ended. */
static int look(pid_t id, uint64_t *result)
{
    struct user_regs_struct registers;
    int status;
    const pid_t got = waitpid(id, &status, __WALL | WNOHANG);

    if (got == 0)
        return 0;
    if (got < 0 || !WIFSTOPPED(status))
        return errno == EINTR && got < 0 ? 0 : -1;
    if (ptrace(PTRACE_GETREGS, id, NULL, &registers) != 0)
        return -1;
    if (WSTOPSIG(status) == SIGSEGV && registers.rip == 0) {
        *result = registers.rax;
        return 1;
    }
    /* A signal of its own; a stop of ptrace's is no signal. */
    return ptrace(PTRACE_CONT, id, NULL, status >> 16 != 0 ? 0 : WSTOPSIG(status)) == 0 ? 0 : -1;
}

static int run_call(struct trace_threads *threads, const struct trace_injection *injection,
                    uint64_t *result, struct error *error)
{
    const struct timespec millisecond = {.tv_nsec = 1000000};
    int state = 0;

    for (size_t i = 0; i < threads->count; i++)
        if (ptrace(PTRACE_CONT, threads->ids[i], NULL, NULL) != 0)
            return lost(threads, error);
    while ((state = look(threads->ids[0], result)) == 0) {
        if (injection->wait != NULL && injection->wait(injection->context, error) != 0)
            return -1;
        (void)nanosleep(&millisecond, NULL);
    }
    if (state < 0)
        return lost(threads, error);
    for (size_t i = 1; i < threads->count; i++)
        if (ptrace(PTRACE_INTERRUPT, threads->ids[i], NULL, NULL) == 0)
            (void)wait_for_stop(threads->ids[i]);
    return 0;
}

int trace_threads_call(struct trace_threads *threads, const struct trace_injection *injection,
                       uint64_t *result, struct error *error)
{
    static struct saved saved;
    const pid_t id = threads->ids[0];
    int called;

    if (!save(id, &saved))
        return lost(threads, error);
    /* In a system call, or in code that no library has called with a lock held. */
    if ((int64_t)saved.registers.orig_rax < 0 &&
        (saved.registers.rip < injection->text_begin || saved.registers.rip >= injection->text_end))
        return 1;
    if (!begin_call(id, &saved, injection))
        return lost(threads, error);
    called = run_call(threads, injection, result, error);
    if (!restore(id, &saved) && called == 0)
        return lost(threads, error);
    return called;
}
