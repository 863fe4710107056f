/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The other counter: runs a program natively and single-steps its marked
 * regions with ptrace(2), each thread its own. It obeys the start and stop
 * marks of gasmark.h, so that the same program prints the same number under
 * this as under QEMU with libgascount.so.
 *
 *     counter_step iterations|once PROGRAM [ARG...]
 *
 * The first argument says how a repeating string instruction counts. The
 * CPU traps after each of its N iterations, while QEMU begins it once
 * more to find that nothing is left: "iterations" counts N + 1 as QEMU does,
 * but N where a comparison ended it; "once" counts 1.
 */
#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#define START_DESCRIPTOR 0xcafebabeU
#define STOP_DESCRIPTOR  0xcafebabfU
#define THREADS_MAX      64
#define ZERO_FLAG        0x40

/* The stop that PTRACE_O_TRACESYSGOOD makes of a syscall. */
#define SYSCALL_STOP (SIGTRAP | 0x80)

struct thread {
    pid_t id;
    bool stepping;
    bool in_syscall; /* the next syscall stop is its end */
    uint64_t count;
    uint64_t rip, rcx;      /* before the step in progress */
    unsigned char bytes[4]; /* of that instruction */
};

static struct thread threads[THREADS_MAX];
static bool repeat_once;

_Noreturn static void fail(const char *what)
{
    fprintf(stderr, "counter_step: %s: %s\n", what, strerror(errno));
    exit(EXIT_FAILURE);
}

static struct thread *thread_of(pid_t id)
{
    for (int i = 0; i < THREADS_MAX; i++) {
        if (threads[i].id == 0)
            threads[i].id = id;
        if (threads[i].id == id)
            return &threads[i];
    }
    errno = EAGAIN;
    fail("too many threads");
}

/* False when the thread has been ended meanwhile, by another one's exit. */
static bool done_unless_gone(long result, const char *what)
{
    if (result < 0 && errno != ESRCH)
        fail(what);
    return result >= 0;
}

static bool read_registers(const struct thread *thread, struct user_regs_struct *registers)
{
    return done_unless_gone(ptrace(PTRACE_GETREGS, thread->id, NULL, registers), "PTRACE_GETREGS");
}

static void read_bytes(struct thread *thread, uint64_t address)
{
    struct iovec local = {thread->bytes, sizeof thread->bytes};
    struct iovec remote = {(void *)(uintptr_t)address, sizeof thread->bytes};

    memset(thread->bytes, 0, sizeof thread->bytes);
    if (process_vm_readv(thread->id, &local, 1, &remote, 1, 0) < 0 && errno != EFAULT)
        fail("process_vm_readv");
}

/* The string opcode after a repeat prefix, or 0. */
static unsigned char repeated_opcode(const struct thread *thread)
{
    size_t at = 0;
    bool repeat = false;

    for (; at < sizeof thread->bytes; at++) {
        unsigned char byte = thread->bytes[at];

        repeat |= byte == 0xf2 || byte == 0xf3;
        if (byte != 0xf2 && byte != 0xf3 && byte != 0x66 && (byte & 0xf0) != 0x40)
            break;
    }
    if (!repeat || at == sizeof thread->bytes)
        return 0;
    return (thread->bytes[at] >= 0xa4 && thread->bytes[at] <= 0xa7) ||
                   (thread->bytes[at] >= 0xaa && thread->bytes[at] <= 0xaf)
               ? thread->bytes[at]
               : 0;
}

/* rep cmps and rep scas may end before their count is down to nothing. */
static bool ended_by_comparison(const struct thread *thread, unsigned char opcode,
                                const struct user_regs_struct *after)
{
    bool compares = opcode == 0xa6 || opcode == 0xa7 || opcode == 0xae || opcode == 0xaf;
    bool while_equal = thread->bytes[0] == 0xf3 || thread->bytes[1] == 0xf3;

    return compares && ((after->eflags & ZERO_FLAG) != 0) != while_equal;
}

/* One step is done: counts the instruction, or one iteration of it. */
static void count_step(struct thread *thread)
{
    struct user_regs_struct registers;
    unsigned char opcode = repeated_opcode(thread);

    if (!read_registers(thread, &registers))
        return;
    if (opcode == 0) {
        thread->count++;
        return;
    }
    if (!repeat_once)
        thread->count++;
    if (registers.rip == thread->rip)
        return;
    if (repeat_once || (thread->rcx > 0 && !ended_by_comparison(thread, opcode, &registers)))
        thread->count++;
}

static void deliver(const struct thread *thread, const struct user_regs_struct *registers)
{
    uint64_t count = thread->count;
    struct iovec local = {&count, sizeof count};
    struct iovec remote = {(void *)(uintptr_t)registers->rsi, sizeof count};

    if (process_vm_writev(thread->id, &local, 1, &remote, 1, 0) != sizeof count)
        fail("process_vm_writev");
}

/* At the entry of a syscall, or before its instruction. */
static void obey_mark(struct thread *thread, uint64_t number,
                      const struct user_regs_struct *registers)
{
    if (number != 0)
        return;
    if ((uint32_t)registers->rdi == START_DESCRIPTOR) {
        thread->stepping = true;
        thread->count = 0;
    } else if ((uint32_t)registers->rdi == STOP_DESCRIPTOR && thread->stepping) {
        thread->count++; /* the syscall instruction itself */
        thread->stepping = false;
        deliver(thread, registers);
    }
}

static void resume(struct thread *thread, int signal)
{
    struct user_regs_struct registers;

    if (!read_registers(thread, &registers))
        return;
    thread->rip = registers.rip;
    thread->rcx = registers.rcx;
    if (thread->stepping) {
        read_bytes(thread, registers.rip);
        if (thread->bytes[0] == 0x0f && thread->bytes[1] == 0x05)
            obey_mark(thread, registers.rax, &registers);
    }
    done_unless_gone(ptrace(thread->stepping ? PTRACE_SINGLESTEP : PTRACE_SYSCALL, thread->id, NULL,
                            (void *)(intptr_t)signal),
                     "resuming");
}

/* Returns the code of the signal that stopped the thread. */
static int code_of(const struct thread *thread)
{
    siginfo_t info = {0};

    done_unless_gone(ptrace(PTRACE_GETSIGINFO, thread->id, NULL, &info), "PTRACE_GETSIGINFO");
    return info.si_code;
}

/*
 * SIGTRAP is the tracer's after a step, and on entry to a handler, where its
 * code is its own number and no instruction was executed. It is the program's
 * after int3, which has completed.
 */
static void trapped(struct thread *thread)
{
    int code = code_of(thread);

    if (code == SI_KERNEL)
        thread->count++;
    else if (thread->stepping && code != SIGTRAP)
        count_step(thread);
    resume(thread, code == SI_KERNEL ? SIGTRAP : 0);
}

/* The begin or the end of a syscall. */
static void at_syscall(struct thread *thread)
{
    struct user_regs_struct registers;

    thread->in_syscall = !thread->in_syscall;
    if (!thread->in_syscall) {
        resume(thread, 0);
        return;
    }
    if (read_registers(thread, &registers))
        obey_mark(thread, registers.orig_rax, &registers);
    /* A region begins after the start mark's syscall: go to its end first. */
    done_unless_gone(ptrace(PTRACE_SYSCALL, thread->id, NULL, NULL), "resuming");
}

static void stopped(struct thread *thread, int status)
{
    int signal = WSTOPSIG(status);

    if (signal == SYSCALL_STOP)
        at_syscall(thread);
    else if (signal == SIGTRAP && status >> 16 != 0)
        resume(thread, 0); /* it has made a thread */
    else if (signal == SIGTRAP)
        trapped(thread);
    else
        resume(thread, signal == SIGSTOP ? 0 : signal);
}

static uint64_t word_at(pid_t id, uint64_t address)
{
    errno = 0;
    uint64_t word = (uint64_t)ptrace(PTRACE_PEEKDATA, id, (void *)(uintptr_t)address, NULL);

    if (errno != 0)
        fail("PTRACE_PEEKDATA");
    return word;
}

/*
 * QEMU gives its guests no vDSO before version 8.2, and the dynamic linker has one object less
 * to look at. Takes it from a program that is about to start, by the entry that
 * names it in the vector after arguments and environment.
 */
static void hide_vdso(pid_t id)
{
    struct thread thread = {.id = id};
    struct user_regs_struct registers;
    uint64_t at;

    if (!read_registers(&thread, &registers))
        fail("reading the stack");
    at = registers.rsp + sizeof at; /* past argc */
    for (int vectors = 0; vectors < 2; at += sizeof at)
        vectors += word_at(id, at) == 0;
    while (word_at(id, at) != AT_NULL && word_at(id, at) != AT_SYSINFO_EHDR)
        at += 2 * sizeof at;
    if (word_at(id, at) != AT_NULL &&
        ptrace(PTRACE_POKEDATA, id, (void *)(uintptr_t)at, (void *)(uintptr_t)AT_IGNORE) < 0)
        fail("PTRACE_POKEDATA");
}

static void run(char **arguments)
{
    /* As QEMU lays out its guests: always the same, and objects upwards in the order of loading. */
    personality(ADDR_NO_RANDOMIZE | ADDR_COMPAT_LAYOUT);
    if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0)
        fail("PTRACE_TRACEME");
    execv(arguments[0], arguments);
    fail(arguments[0]);
}

int main(int argc, char **argv)
{
    int status, result = EXIT_FAILURE;
    pid_t first, id;

    if (argc < 3) {
        fprintf(stderr, "usage: counter_step iterations|once PROGRAM [ARG...]\n");
        return 2;
    }
    repeat_once = strcmp(argv[1], "once") == 0;
    first = fork();
    if (first == 0)
        run(argv + 2);
    if (first < 0 || waitpid(first, &status, 0) < 0 || !WIFSTOPPED(status))
        fail("starting");
    if (ptrace(PTRACE_SETOPTIONS, first, NULL,
               PTRACE_O_TRACECLONE | PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL) < 0)
        fail("PTRACE_SETOPTIONS");
    if (getenv("KEEP_VDSO") == NULL)
        hide_vdso(first);
    resume(thread_of(first), 0);
    while ((id = waitpid(-1, &status, __WALL)) > 0) {
        if (WIFSTOPPED(status))
            stopped(thread_of(id), status);
        else if (id == first)
            result = WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILURE;
    }
    return result;
}
