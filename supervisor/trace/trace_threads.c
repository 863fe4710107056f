/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/trace/trace_threads.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "supervisor/trace/trace_obstacles.h"
#include "supervisor/trace/trace_stacks.h"

enum {
    STEPS_MAX = 10000,
    CALL_STACK = 256 << 10,
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

/* Waits until the thread has stopped. -1: it has ended. */
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
    /* EPERM: the thread is ending, as the process may be traced. */
    if (ptrace(PTRACE_SEIZE, id, NULL, NULL) != 0)
        return (errno == ESRCH || errno == EPERM) && id != threads->process
                   ? 0
                   : trace_threads_refuse(threads->process, errno, error);
    list[threads->count] = (struct trace_thread){.id = id};
    /* Also where it fails, so that a thread that has ended is reaped. */
    (void)ptrace(PTRACE_INTERRUPT, id, NULL, NULL);
    if (wait_for_stop(&list[threads->count]) == 0)
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

/* How many threads the process has, as Linux counts them; 0: not known. */
static size_t count_threads(pid_t process)
{
    char path[64], line[256];
    size_t count = 0;
    FILE *status;

    snprintf(path, sizeof path, "/proc/%d/status", process);
    status = fopen(path, "re");
    if (status == NULL)
        return 0;
    /* NOLINTNEXTLINE(cert-err34-c): Linux writes a number there */
    while (fgets(line, sizeof line, status) != NULL && sscanf(line, "Threads: %zu", &count) != 1)
        ;
    fclose(status);
    return count;
}

/*
 * The hazard: threads begin and end while their directory is read, which then may leave out one
 * that runs on. Stopped threads start none, so the directory is read again until all threads that
 * Linux counts are stopped.
 */
static int stop_all_threads(struct trace_threads *threads, struct error *error)
{
    enum { READINGS_MAX = 1000 };
    bool more;

    for (int i = 0; i < READINGS_MAX; i++) {
        more = false;
        if (stop_listed(threads, &more, error) != 0)
            return -1;
        if (threads->count == 0)
            return trace_threads_refuse(threads->process, ESRCH, error);
        if (!more && count_threads(threads->process) == threads->count)
            return 0;
    }
    return error_set(error, ERROR_INPUT,
                     "process %d cannot be traced: it starts threads faster than they can be "
                     "stopped",
                     threads->process);
}

int trace_threads_stop(struct trace_threads *threads, pid_t process, struct error *error)
{
    *threads = (struct trace_threads){.process = process};
    if (stop_traced_thread(threads, process, error) == 0 && stop_all_threads(threads, error) == 0)
        return 0;
    trace_threads_release(threads);
    return -1;
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

static bool is_within(const struct trace_range *ranges, size_t count, uint64_t address)
{
    for (size_t i = 0; i < count; i++)
        if (address >= ranges[i].begin && address < ranges[i].end)
            return true;
    return false;
}

/* The inner bytes of patches. NULL if out of memory. */
static struct trace_range *ranges_of(const struct trace_patch *patches, size_t count)
{
    struct trace_range *const ranges = calloc(count + 1, sizeof *ranges);

    for (size_t i = 0; ranges != NULL && i < count; i++)
        ranges[i] = (struct trace_range){patches[i].address + 1, patches[i].address + 5};
    return ranges;
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
                               const struct trace_range *ranges, size_t count, struct error *error)
{
    struct user_regs_struct registers;

    for (int steps = 0; steps < STEPS_MAX; steps++) {
        if (ptrace(PTRACE_GETREGS, thread->id, NULL, &registers) != 0)
            return lose_thread(threads, error);
        if (!is_within(ranges, count, registers.rip))
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
static bool returns_within(int memory, uint64_t stack, const struct trace_range *ranges,
                           size_t count)
{
    enum { WORDS = 2048, OVERLAP = 2, STACK_MOST = 8 << 20 };
    uint64_t words[WORDS];
    ssize_t got;

    for (uint64_t at = stack & ~UINT64_C(7); at < stack + STACK_MOST;
         at += (WORDS - OVERLAP) * sizeof *words) {
        got = pread(memory, words, sizeof words, (off_t)at);
        for (size_t i = 0; got > 0 && i + OVERLAP < (size_t)got / sizeof *words; i++)
            if (is_interrupted(&words[i]) && is_within(ranges, count, words[i]))
                return true;
        if (got != (ssize_t)sizeof words)
            break;
    }
    return false;
}

static bool any_returns_within(const struct trace_threads *threads,
                               const struct trace_range *ranges, size_t count)
{
    struct user_regs_struct registers;
    bool found = false;
    char path[64];
    int memory;

    snprintf(path, sizeof path, "/proc/%d/mem", threads->process);
    memory = open(path, O_RDONLY | O_CLOEXEC);
    for (size_t i = 0; memory >= 0 && !found && i < threads->count; i++)
        found = ptrace(PTRACE_GETREGS, threads->list[i].id, NULL, &registers) == 0 &&
                returns_within(memory, registers.rsp, ranges, count);
    if (memory >= 0)
        close(memory);
    return found;
}

int trace_threads_leave(struct trace_threads *threads, const struct trace_patch *patches,
                        size_t count, struct error *error)
{
    struct trace_range *const ranges = ranges_of(patches, count);
    int result = ranges != NULL ? 0 : error_memory(error, "a trace");

    for (size_t i = 0; result == 0 && i < threads->count; i++)
        result = step_out_of_patches(threads, &threads->list[i], ranges, count, error);
    if (result == 0)
        result = any_returns_within(threads, ranges, count) ? 1 : 0;
    free(ranges);
    return result;
}

bool trace_threads_are_within(const struct trace_threads *threads, const struct trace_range *ranges,
                              size_t count)
{
    struct user_regs_struct registers;

    for (size_t i = 0; i < threads->count; i++)
        if (ptrace(PTRACE_GETREGS, threads->list[i].id, NULL, &registers) != 0 ||
            is_within(ranges, count, registers.rip))
            return true;
    return any_returns_within(threads, ranges, count);
}

uint64_t trace_threads_base(const struct trace_threads *threads, size_t index)
{
    struct user_regs_struct registers;

    return ptrace(PTRACE_GETREGS, threads->list[index].id, NULL, &registers) == 0
               ? registers.fs_base
               : 0;
}

/* ---- running some threads ---- */

static void remove_thread(struct trace_threads *threads, size_t index)
{
    threads->list[index] = threads->list[--threads->count];
}

/* 1: the thread has stopped, with *status; 0: it runs; -1: it has ended. */
static int poll_thread(pid_t id, int *status)
{
    const pid_t got = waitpid(id, status, __WALL | WNOHANG);

    if (got == 0 || (got < 0 && errno == EINTR))
        return 0;
    return got > 0 && WIFSTOPPED(*status) ? 1 : -1;
}

static void continue_thread(struct trace_thread *thread)
{
    (void)ptrace(PTRACE_CONT, thread->id, NULL, (long)take_kept_signal(thread));
}

/* Delivers the signals of all threads but one: a stopped thread could hold a lock. */
static void continue_other_threads(struct trace_threads *threads, pid_t but)
{
    int status, state;

    for (size_t i = threads->count; i-- > 0;) {
        if (threads->list[i].id == but)
            continue;
        state = poll_thread(threads->list[i].id, &status);
        if (state < 0)
            remove_thread(threads, i);
        if (state <= 0)
            continue;
        keep_signal(&threads->list[i], status);
        continue_thread(&threads->list[i]);
    }
}

static void resume_other_threads(struct trace_threads *threads, pid_t but)
{
    for (size_t i = 0; i < threads->count; i++)
        if (threads->list[i].id != but)
            continue_thread(&threads->list[i]);
}

/* Stops all threads again, also those that were started meanwhile. */
static int stop_other_threads(struct trace_threads *threads, pid_t but, struct error *error)
{
    for (size_t i = threads->count; i-- > 0;)
        if (threads->list[i].id != but &&
            (ptrace(PTRACE_INTERRUPT, threads->list[i].id, 0, 0) != 0 ||
             wait_for_stop(&threads->list[i]) != 0))
            remove_thread(threads, i);
    return stop_all_threads(threads, error);
}

static struct trace_thread *find_thread(const struct trace_threads *threads, pid_t id)
{
    for (size_t i = 0; i < threads->count; i++)
        if (threads->list[i].id == id)
            return &threads->list[i];
    return NULL;
}

/* ---- a safe thread ---- */

static bool set_breakpoint(pid_t id, uint64_t address)
{
    const size_t registers = offsetof(struct user, u_debugreg);
    const long enable = address != 0; /* the first register, for execution */

    return ptrace(PTRACE_POKEUSER, id, registers + 7 * sizeof(long), 0L) == 0 &&
           ptrace(PTRACE_POKEUSER, id, registers, address) == 0 &&
           ptrace(PTRACE_POKEUSER, id, registers + 7 * sizeof(long), enable) == 0;
}

/* 1: the thread is at the address; 0: not yet; -1: it has ended. */
static int poll_arrival(struct trace_thread *thread, uint64_t address)
{
    struct user_regs_struct registers;
    int status;
    const int state = poll_thread(thread->id, &status);

    if (state <= 0)
        return state;
    if (ptrace(PTRACE_GETREGS, thread->id, NULL, &registers) != 0)
        return -1;
    if (WSTOPSIG(status) == SIGTRAP && status >> 16 == 0 && registers.rip == address)
        return 1;
    keep_signal(thread, status);
    continue_thread(thread);
    return 0;
}

/*
 * Lets all threads continue until this one has returned to the address, for a bounded time. The
 * breakpoint is in a register of the thread's CPU, so that no text is changed.
 */
static int run_until(struct trace_threads *threads, pid_t id, uint64_t address, struct error *error)
{
    enum { POLLS = 500 };
    const struct timespec moment = {.tv_nsec = 200000};
    struct trace_thread *const thread = find_thread(threads, id);
    int state = 0;

    if (!set_breakpoint(id, address))
        return 0;
    resume_other_threads(threads, id);
    continue_thread(thread);
    for (int i = 0; i < POLLS && state == 0; i++) {
        (void)nanosleep(&moment, NULL);
        continue_other_threads(threads, id);
        state = poll_arrival(find_thread(threads, id), address);
    }
    if (stop_other_threads(threads, state > 0 ? id : 0, error) != 0)
        return -1;
    if (find_thread(threads, id) != NULL)
        (void)set_breakpoint(id, 0);
    return 0;
}

/* Finds a thread that holds no lock of a library. If it returns 0, *later may be a thread that
 * soon returns to *returns_to. */
static pid_t find_safe_thread(const struct trace_threads *threads, pid_t *later,
                              uint64_t *returns_to)
{
    struct trace_stacks *const stacks = trace_stacks_open(threads->process);
    struct user_regs_struct registers;
    uint64_t address;
    pid_t found = 0;

    *later = 0;
    for (size_t i = 0; stacks != NULL && found == 0 && i < threads->count; i++) {
        const pid_t id = threads->list[i].id;

        if (ptrace(PTRACE_GETREGS, id, NULL, &registers) != 0)
            continue;
        if (trace_stacks_is_safe(stacks, id, (int64_t)registers.orig_rax, &address))
            found = id;
        if (address == 0 || *later != 0)
            continue;
        *later = id;
        *returns_to = address;
    }
    trace_stacks_close(stacks);
    return found;
}

/* *id 0: no thread is safe. */
static int choose_thread(struct trace_threads *threads, pid_t *id, struct error *error)
{
    uint64_t address;
    pid_t later;

    *id = find_safe_thread(threads, &later, &address);
    if (*id != 0 || later == 0)
        return 0;
    if (run_until(threads, later, address, error) != 0)
        return -1;
    *id = find_safe_thread(threads, &later, &address);
    return 0;
}

/* ---- a call ---- */

struct saved {
    struct user_regs_struct registers;
    uint8_t state[STATE_SIZE];
    struct iovec vectors;
    uint64_t mask; /* the blocked signals */
};

static bool save(pid_t id, struct saved *saved)
{
    saved->vectors = (struct iovec){saved->state, sizeof saved->state};
    return ptrace(PTRACE_GETREGS, id, NULL, &saved->registers) == 0 &&
           ptrace(PTRACE_GETREGSET, id, NT_X86_XSTATE, &saved->vectors) == 0 &&
           ptrace(PTRACE_GETSIGMASK, id, sizeof saved->mask, &saved->mask) == 0;
}

static bool restore(pid_t id, struct saved *saved)
{
    return ptrace(PTRACE_SETREGS, id, NULL, &saved->registers) == 0 &&
           ptrace(PTRACE_SETREGSET, id, NT_X86_XSTATE, &saved->vectors) == 0 &&
           ptrace(PTRACE_SETSIGMASK, id, sizeof saved->mask, &saved->mask) == 0;
}

/* Makes one system call, and returns its result. Signals are blocked. -1: the process has ended. */
static bool call_system(pid_t id, const struct saved *saved, uint64_t instruction,
                        const uint64_t arguments[7], uint64_t *result)
{
    struct user_regs_struct registers = saved->registers;
    struct trace_thread thread = {.id = id};

    registers.rax = arguments[0];
    registers.rdi = arguments[1];
    registers.rsi = arguments[2];
    registers.rdx = arguments[3];
    registers.r10 = arguments[4];
    registers.r8 = arguments[5];
    registers.r9 = arguments[6];
    registers.orig_rax = UINT64_MAX; /* no system call is to be restarted */
    registers.rip = instruction;
    if (ptrace(PTRACE_SETREGS, id, NULL, &registers) != 0)
        return false;
    while (registers.rip == instruction)
        if (!step_thread(&thread) || ptrace(PTRACE_GETREGS, id, NULL, &registers) != 0)
            return false;
    *result = registers.rax;
    return true;
}

/* The call has a stack of its own: the thread's may be small, or a coroutine's. */
static bool map_call_stack(pid_t id, const struct saved *saved, uint64_t instruction,
                           uint64_t *stack)
{
    const uint64_t map[7] = {
        SYS_mmap,   0, CALL_STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
        UINT64_MAX, 0};

    return call_system(id, saved, instruction, map, stack) && *stack < UINT64_MAX - 4095;
}

static bool unmap_stack(pid_t id, const struct saved *saved, uint64_t instruction, uint64_t stack)
{
    const uint64_t unmap[7] = {SYS_munmap, stack, CALL_STACK};
    uint64_t ignored;

    return call_system(id, saved, instruction, unmap, &ignored);
}

/* The function returns to address 0, where the thread stops with SIGSEGV. */
static bool begin_call(pid_t id, const struct saved *saved, uint64_t stack,
                       const struct trace_injection *injection)
{
    struct user_regs_struct registers = saved->registers;
    const uint64_t zero = 0, space = stack + CALL_STACK - TRACE_PATH_SIZE;
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
    registers.orig_rax = UINT64_MAX;
    registers.rsp = space - 8;
    registers.rip = injection->function;
    return ptrace(PTRACE_SETREGS, id, NULL, &registers) == 0;
}

/* 1: it has returned; 0: not yet; -1: the process has ended. */
static int poll_call(pid_t id, uint64_t *result)
{
    struct user_regs_struct registers;
    int status;
    const int state = poll_thread(id, &status);

    if (state <= 0)
        return state;
    if (ptrace(PTRACE_GETREGS, id, NULL, &registers) != 0)
        return -1;
    if (WSTOPSIG(status) == SIGSEGV && registers.rip == 0) {
        *result = registers.rax;
        return 1;
    }
    /* Deliver a signal; ptrace's own stops are not signals. */
    return ptrace(PTRACE_CONT, id, NULL, status >> 16 != 0 ? 0 : WSTOPSIG(status)) == 0 ? 0 : -1;
}

static int run_call(struct trace_threads *threads, pid_t id,
                    const struct trace_injection *injection, uint64_t *result, struct error *error)
{
    const struct timespec millisecond = {.tv_nsec = 1000000};
    int state = 0;

    /* Its kept signals wait until its registers are restored. */
    if (ptrace(PTRACE_CONT, id, NULL, NULL) != 0)
        return lose_thread(threads, error);
    resume_other_threads(threads, id);
    while ((state = poll_call(id, result)) == 0) {
        if (injection->wait != NULL && injection->wait(injection->context, error) != 0)
            return -1;
        continue_other_threads(threads, id);
        (void)nanosleep(&millisecond, NULL);
    }
    return state < 0 ? lose_thread(threads, error) : 0;
}

static int call_on_stack(struct trace_threads *threads, pid_t id, const struct saved *saved,
                         const struct trace_injection *injection, uint64_t *result,
                         struct error *error)
{
    /* A handler of a signal could jump out of the call. */
    const uint64_t mask = ~(UINT64_C(1) << (SIGSEGV - 1));
    uint64_t stack;
    int called;

    if (ptrace(PTRACE_SETSIGMASK, id, sizeof mask, &mask) != 0)
        return lose_thread(threads, error);
    if (!map_call_stack(id, saved, injection->instruction, &stack))
        return error_set(error, ERROR_INPUT, "process %d cannot be traced: it is out of memory",
                         threads->process);
    called = begin_call(id, saved, stack, injection)
                 ? run_call(threads, id, injection, result, error)
                 : lose_thread(threads, error);
    if (!unmap_stack(id, saved, injection->instruction, stack) && called == 0)
        return lose_thread(threads, error);
    return called;
}

int trace_threads_call(struct trace_threads *threads, const struct trace_injection *injection,
                       uint64_t *result, struct error *error)
{
    static struct saved saved;
    int called;
    pid_t id;

    if (choose_thread(threads, &id, error) != 0)
        return -1;
    if (id == 0)
        return 1;
    if (!save(id, &saved))
        return lose_thread(threads, error);
    called = call_on_stack(threads, id, &saved, injection, result, error);
    if (!restore(id, &saved) && called == 0)
        return lose_thread(threads, error);
    return called == 0 ? stop_other_threads(threads, id, error) : called;
}

int trace_threads_call_alone(struct trace_threads *threads, size_t index,
                             const struct trace_injection *injection, struct error *error)
{
    struct trace_threads alone = {
        .process = threads->process, .list = &threads->list[index], .count = 1};
    static struct saved saved;
    uint64_t ignored;
    int called;

    if (!save(alone.list->id, &saved))
        return lose_thread(threads, error);
    called = call_on_stack(&alone, alone.list->id, &saved, injection, &ignored, error);
    return restore(alone.list->id, &saved) || called != 0 ? called : lose_thread(threads, error);
}
