/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/trace/trace_threads.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/io.h"

enum { STATUS_MOST = 1 << 16 };

/* ---- what the system says ---- */

static const char *next_status_line(const char *at)
{
    const char *const end = strchr(at, '\n');

    return end != NULL ? end + 1 : NULL;
}

/* "x86_Thread_features:\tshstk wrss" */
static bool names_shadow_stack(const char *line)
{
    const size_t length = strcspn(line, "\n");

    return strncmp(line, "x86_Thread_features:", 20) == 0 &&
           memmem(line, length, "shstk", 5) != NULL;
}

void trace_obstacles_read_status(struct trace_obstacles *obstacles, const char *status)
{
    for (const char *line = status; line != NULL && *line != '\0'; line = next_status_line(line)) {
        /* NOLINTBEGIN(cert-err34-c): Linux writes numbers there */
        (void)sscanf(line, "Seccomp: %d", &obstacles->seccomp);
        (void)sscanf(line, "TracerPid: %d", &obstacles->tracer);
        (void)sscanf(line, "Uid: %" SCNd64, &obstacles->user);
        /* NOLINTEND(cert-err34-c) */
        obstacles->shadow_stack |= names_shadow_stack(line);
    }
}

static int read_yama(void)
{
    FILE *const file = fopen("/proc/sys/kernel/yama/ptrace_scope", "re");
    int scope = 0;

    if (file == NULL)
        return 0;
    /* NOLINTNEXTLINE(cert-err34-c): likewise */
    if (fscanf(file, "%d", &scope) != 1)
        scope = 0;
    fclose(file);
    return scope;
}

int trace_obstacles_read(struct trace_obstacles *obstacles, pid_t process, struct error *error)
{
    struct buf status = {0};
    struct error ignored;
    char path[64];

    *obstacles = (struct trace_obstacles){.user = -1, .yama = read_yama()};
    snprintf(path, sizeof path, "/proc/%d/status", process);
    if (io_read_file(path, STATUS_MOST, &status, &ignored) != 0 || buf_string(&status) == NULL) {
        buf_free(&status);
        return error_set(error, ERROR_INPUT, "no process %d", process);
    }
    trace_obstacles_read_status(obstacles, status.data);
    buf_free(&status);
    return 0;
}

/* ---- words ---- */

int trace_obstacles_check(const struct trace_obstacles *obstacles, pid_t process,
                          struct error *error)
{
    if (obstacles->seccomp != 0)
        return error_set(error, ERROR_INPUT,
                         "process %d is confined by seccomp: no agent can be loaded into it "
                         "(workers: gaspipe run --trace-functions)",
                         process);
    if (obstacles->shadow_stack)
        return error_set(error, ERROR_INPUT,
                         "process %d has a shadow stack (CET), which lets no function return "
                         "through a trampoline: start it with "
                         "GLIBC_TUNABLES=glibc.cpu.hwcaps=-SHSTK",
                         process);
    return 0;
}

int trace_obstacles_refuse(const struct trace_obstacles *obstacles, pid_t process, int errnum,
                           int64_t own, struct error *error)
{
    if (errnum == ESRCH)
        return error_set(error, ERROR_INPUT, "no process %d", process);
    if (obstacles->tracer != 0)
        return error_set(error, ERROR_INPUT,
                         "process %d cannot be traced: process %d traces it already", process,
                         obstacles->tracer);
    if (obstacles->user >= 0 && obstacles->user != own && own != 0)
        return error_set(error, ERROR_INPUT,
                         "process %d cannot be traced: it belongs to user %" PRId64, process,
                         obstacles->user);
    if (errnum == EPERM && obstacles->yama > 0)
        return error_set(error, ERROR_INPUT,
                         "process %d cannot be traced: kernel.yama.ptrace_scope is %d; "
                         "gaspipe trace can start the program itself%s",
                         process, obstacles->yama,
                         obstacles->yama < 3 ? ", or needs CAP_SYS_PTRACE" : "");
    if (errnum == EPERM)
        return error_set(error, ERROR_INPUT,
                         "process %d cannot be traced: ptrace is not permitted here (a container, "
                         "seccomp, or a process that may not be dumped); gaspipe trace can start "
                         "the program itself",
                         process);
    return error_set(error, ERROR_INPUT, "process %d cannot be traced: %s", process,
                     strerror(errnum));
}

enum {
    STEPS_MAX = 10000,
    BELOW = 4096,       /* bytes of stack left to what was interrupted; its red zone is in them */
    STATE_SIZE = 16384, /* of vector registers, at most */
};

/* ---- stopping ---- */

static bool is_known_thread(const struct trace_threads *threads, pid_t id)
{
    for (size_t i = 0; i < threads->count; i++)
        if (threads->list[i].id == id)
            return true;
    return false;
}

static int trace_threads_refuse(pid_t process, int errnum, struct error *error)
{
    struct trace_obstacles obstacles;

    return trace_obstacles_read(&obstacles, process, error) == 0
               ? trace_obstacles_refuse(&obstacles, process, errnum, (int64_t)geteuid(), error)
               : -1;
}

/* If a signal stopped the thread, it is kept, to be delivered later. */
static void keep_signal(struct trace_thread *thread, int status)
{
    /* ptrace's own stops are not signals. */
    if (status >> 16 == 0)
        thread->held |= UINT64_C(1) << (WSTOPSIG(status) - 1);
}

/* The signal that is delivered when the thread continues; 0: none. */
static int take_kept_signal(struct trace_thread *thread)
{
    const int lowest = __builtin_ffsll((long long)thread->held);

    thread->held &= thread->held - 1;
    return lowest;
}

/* Waits until the thread has stopped. */
static int wait_for_stop(struct trace_thread *thread)
{
    int status;

    while (waitpid(thread->id, &status, __WALL) < 0)
        if (errno != EINTR)
            return -1;
    if (!WIFSTOPPED(status))
        return -1;
    keep_signal(thread, status);
    return 0;
}

static int stop_traced_thread(struct trace_threads *threads, pid_t id, struct error *error)
{
    struct trace_thread *const list =
        array_reserve(threads->list, &threads->capacity, threads->count + 1, sizeof *list);

    if (list == NULL)
        return error_memory(error, "a process's threads");
    threads->list = list;
    if (ptrace(PTRACE_SEIZE, id, NULL, NULL) != 0)
        return errno == ESRCH && id != threads->process
                   ? 0
                   : trace_threads_refuse(threads->process, errno, error);
    list[threads->count] = (struct trace_thread){.id = id};
    if (ptrace(PTRACE_INTERRUPT, id, NULL, NULL) == 0 && wait_for_stop(&list[threads->count]) == 0)
        threads->count++;
    return 0;
}

/* Stops the threads that are not stopped yet; *more: there were some. */
static int stop_listed(struct trace_threads *threads, bool *more, struct error *error)
{
    char path[64];
    struct dirent *entry;
    DIR *directory;
    int result = 0;

    snprintf(path, sizeof path, "/proc/%d/task", threads->process);
    directory = opendir(path);
    if (directory == NULL)
        return trace_threads_refuse(threads->process, ESRCH, error);
    /* cppcheck-suppress readdirCalled ; only this thread reads this directory */
    while (result == 0 && (entry = readdir(directory)) != NULL) {
        const pid_t id = (pid_t)strtol(entry->d_name, NULL, 10);

        if (id <= 0 || is_known_thread(threads, id))
            continue;
        *more = true;
        result = stop_traced_thread(threads, id, error);
    }
    closedir(directory);
    return result;
}

int trace_threads_stop(struct trace_threads *threads, pid_t process, struct error *error)
{
    bool more = true;

    *threads = (struct trace_threads){.process = process};
    if (stop_traced_thread(threads, process, error) != 0)
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

static void release_thread(pid_t process, struct trace_thread *thread)
{
    (void)ptrace(PTRACE_DETACH, thread->id, NULL, (long)take_kept_signal(thread));
    while (thread->held != 0)
        (void)syscall(SYS_tgkill, process, thread->id, take_kept_signal(thread));
}

void trace_threads_release(struct trace_threads *threads)
{
    for (size_t i = 0; i < threads->count; i++)
        release_thread(threads->process, &threads->list[i]);
    free(threads->list);
    *threads = (struct trace_threads){0};
}

/* ---- stepping ---- */

static int lose_thread(const struct trace_threads *threads, struct error *error)
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

/* Delivers no signal meanwhile: the handler would return into the bytes of the patch. */
static bool step_thread(struct trace_thread *thread)
{
    const uint64_t held = thread->held;

    if (ptrace(PTRACE_SINGLESTEP, thread->id, NULL, NULL) != 0 || wait_for_stop(thread) != 0)
        return false;
    /* The step itself ends with SIGTRAP. */
    thread->held &= ~(UINT64_C(1) << (SIGTRAP - 1)) | held;
    return true;
}

static int step_out_of_patches(const struct trace_threads *threads, struct trace_thread *thread,
                               const struct trace_patch *patches, size_t count, struct error *error)
{
    struct user_regs_struct registers;

    for (int steps = 0; steps < STEPS_MAX; steps++) {
        if (ptrace(PTRACE_GETREGS, thread->id, NULL, &registers) != 0)
            return lose_thread(threads, error);
        if (!is_within(patches, count, registers.rip))
            break;
        if (!step_thread(thread))
            return lose_thread(threads, error);
    }
    return 0;
}

/* Returns true if the words look like the state that Linux saves on the stack when a signal handler
 * interrupts user code: next instruction, flags, one of which is always set, code segment. */
static bool is_interrupted(const uint64_t *words)
{
    enum { ALWAYS = 2, FLAGS_END = 1 << 22, USER_CODE = 0x33 };

    return (words[1] & ALWAYS) != 0 && words[1] < FLAGS_END && (words[2] & 0xffff) == USER_CODE;
}

/* Returns true if a signal handler of the thread returns into the bytes of a patch: searches its
 * stack for such a state. */
static bool returns_within(int memory, uint64_t stack, const struct trace_patch *patches,
                           size_t count)
{
    enum { WORDS = 2048, OVERLAP = 2, STACK_MOST = 8 << 20 };
    uint64_t words[WORDS];
    ssize_t got;

    for (uint64_t at = stack & ~UINT64_C(7); at < stack + STACK_MOST;
         at += (WORDS - OVERLAP) * sizeof *words) {
        got = pread(memory, words, sizeof words, (off_t)at);
        for (size_t i = 0; got > 0 && i + OVERLAP < (size_t)got / sizeof *words; i++)
            if (is_interrupted(&words[i]) && is_within(patches, count, words[i]))
                return true;
        if (got != (ssize_t)sizeof words)
            break;
    }
    return false;
}

static bool any_returns_within(const struct trace_threads *threads,
                               const struct trace_patch *patches, size_t count)
{
    struct user_regs_struct registers;
    bool found = false;
    char path[64];
    int memory;

    snprintf(path, sizeof path, "/proc/%d/mem", threads->process);
    memory = open(path, O_RDONLY | O_CLOEXEC);
    for (size_t i = 0; memory >= 0 && !found && i < threads->count; i++)
        found = ptrace(PTRACE_GETREGS, threads->list[i].id, NULL, &registers) == 0 &&
                returns_within(memory, registers.rsp, patches, count);
    if (memory >= 0)
        close(memory);
    return found;
}

int trace_threads_leave(struct trace_threads *threads, const struct trace_patch *patches,
                        size_t count, struct error *error)
{
    for (size_t i = 0; i < threads->count; i++)
        if (step_out_of_patches(threads, &threads->list[i], patches, count, error) != 0)
            return -1;
    return any_returns_within(threads, patches, count) ? 1 : 0;
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

/* The function returns to address 0, where the thread stops with SIGSEGV. */
static bool begin_call(pid_t id, const struct saved *saved, const struct trace_injection *injection)
{
    struct user_regs_struct registers = saved->registers;
    const uint64_t zero = 0, space = (registers.rsp - BELOW) & ~UINT64_C(63);
    char text[TRACE_PATH_SIZE] = "";

    if (injection->text != NULL)
        snprintf(text, sizeof text, "%s", injection->text);
    for (size_t i = 0; i < sizeof text; i += sizeof(long)) {
        long word;

        memcpy(&word, text + i, sizeof word);
        if (ptrace(PTRACE_POKEDATA, id, space + i, word) != 0)
            return false;
    }
    if (ptrace(PTRACE_POKEDATA, id, space - 8, zero) != 0)
        return false;
    registers.rdi = injection->text != NULL && injection->first == 0 ? space : injection->first;
    registers.rsi = injection->text != NULL && injection->first != 0 ? space : injection->second;
    registers.rax = 0;
    registers.orig_rax = UINT64_MAX; /* no system call is to be restarted */
    registers.rsp = space - 8;
    registers.rip = injection->function;
    return ptrace(PTRACE_SETREGS, id, NULL, &registers) == 0;
}

/* 1: it has returned; 0: not yet; -1: the process has ended. */
static int poll_call(pid_t id, uint64_t *result)
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
    /* Deliver a signal; ptrace's own stops are not signals. */
    return ptrace(PTRACE_CONT, id, NULL, status >> 16 != 0 ? 0 : WSTOPSIG(status)) == 0 ? 0 : -1;
}

/* Delivers the other threads' signals: a stopped thread could hold a lock. */
static void continue_other_threads(struct trace_threads *threads)
{
    int status;

    for (size_t i = 1; i < threads->count; i++) {
        struct trace_thread *const thread = &threads->list[i];

        if (waitpid(thread->id, &status, __WALL | WNOHANG) <= 0 || !WIFSTOPPED(status))
            continue;
        keep_signal(thread, status);
        (void)ptrace(PTRACE_CONT, thread->id, NULL, (long)take_kept_signal(thread));
    }
}

/* The main thread gets its kept signals after the call, when its registers are restored. */
static bool resume_all(struct trace_threads *threads)
{
    bool good = ptrace(PTRACE_CONT, threads->list[0].id, NULL, NULL) == 0;

    for (size_t i = 1; good && i < threads->count; i++)
        good = ptrace(PTRACE_CONT, threads->list[i].id, NULL,
                      (long)take_kept_signal(&threads->list[i])) == 0;
    return good;
}

static int run_call(struct trace_threads *threads, const struct trace_injection *injection,
                    uint64_t *result, struct error *error)
{
    const struct timespec millisecond = {.tv_nsec = 1000000};
    int state = 0;

    if (!resume_all(threads))
        return lose_thread(threads, error);
    while ((state = poll_call(threads->list[0].id, result)) == 0) {
        if (injection->wait != NULL && injection->wait(injection->context, error) != 0)
            return -1;
        continue_other_threads(threads);
        (void)nanosleep(&millisecond, NULL);
    }
    if (state < 0)
        return lose_thread(threads, error);
    for (size_t i = 1; i < threads->count; i++)
        if (ptrace(PTRACE_INTERRUPT, threads->list[i].id, NULL, NULL) == 0)
            (void)wait_for_stop(&threads->list[i]);
    return 0;
}

int trace_threads_call(struct trace_threads *threads, const struct trace_injection *injection,
                       uint64_t *result, struct error *error)
{
    static struct saved saved;
    const pid_t id = threads->list[0].id;
    int called;

    if (!save(id, &saved))
        return lose_thread(threads, error);
    /* In a system call, or in code that no library has called with a lock held. */
    if ((int64_t)saved.registers.orig_rax < 0 &&
        (saved.registers.rip < injection->text_begin || saved.registers.rip >= injection->text_end))
        return 1;
    if (!begin_call(id, &saved, injection))
        return lose_thread(threads, error);
    called = run_call(threads, injection, result, error);
    if (!restore(id, &saved) && called == 0)
        return lose_thread(threads, error);
    return called;
}
