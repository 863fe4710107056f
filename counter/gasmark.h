/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASMARK_H
#define GASMARK_H

#include <stdint.h>
#include <string.h>
#include <unistd.h>

/*
 * Marks around code whose machine instructions are counted. The header needs no
 * other file; copy it where you need it.
 *
 * A mark is a read(2) from a descriptor that does not exist. Without a counter
 * it fails with EBADF and changes nothing, so one binary runs with and without a
 * counter. Under `qemu-x86_64 -plugin libgascount.so` it also fails with EBADF,
 * but the counter sees it and writes a requested number into the buffer. The
 * wrappers here fill their buffer with GASMARK_NONE first, to detect that.
 *
 *     start mark   mov ...  syscall |           not counted up to here
 *     the work                      | counted
 *     stop mark    mov ...  syscall | counted, the syscall instruction included
 *
 * The same holds from resume to pause. The few instructions that load the stop
 * mark's registers are counted; their number is constant. An instruction that
 * faults is not counted, until it is executed again after a signal handler
 * returned. A `rep` string instruction of N iterations counts N + 1, unless the
 * counter was loaded with rep=once.
 *
 * Other languages need nothing but read(2). The descriptor is compared in its
 * low 32 bits, so both -889275714 and 0xcafebabe start. In Python:
 *
 *     import ctypes
 *     libc, count = ctypes.CDLL(None), ctypes.c_uint64()
 *     libc.syscall(0, 0xcafebabe, ctypes.byref(count), 1)
 *     work()
 *     libc.syscall(0, 0xcafebabf, ctypes.byref(count), 8)
 *
 * 0x0afebabe works in place of 0xcafebabe, for each mark.
 */

/* GASMARK_HELLO returns it. Callers ignore a counter of another version. */
#define GASMARK_VERSION 1

/* A mark returns this if no counter is loaded; no count reaches it. */
#define GASMARK_NONE UINT64_MAX

/* The exit status of a process whose region exceeded its limit. */
#define GASMARK_EXIT_LIMIT 30

/* The descriptors. A buffer holds eight bytes in the machine's byte order, except as noted. */
enum gasmark {
    GASMARK_START = 0,         /* reset to zero and count, even if a region was open */
    GASMARK_STOP = 1,          /* end the region; buffer receives its instructions, or a struct
                                * gasmark_totals if that fits */
    GASMARK_BYTES_READ = 2,    /* buffer receives the bytes that system calls in the region read */
    GASMARK_BYTES_WRITTEN = 3, /* ... and wrote */
    GASMARK_PAUSE = 4,         /* suspend the region */
    GASMARK_RESUME = 5,        /* resume it */
    GASMARK_PEEK = 6,          /* buffer gets the instructions so far; nothing changes */
    GASMARK_LIMIT = 7,         /* buffer holds the limit of regions that start later */
    GASMARK_HELLO = 8,         /* buffer gets a struct gasmark_hello */
    GASMARK_SYSCALLS = 9, /* buffer gets the number of system calls in the region, marks left out */
    GASMARK_SCOPE = 10,   /* buffer holds a gasmark_scope for regions that start later */
    GASMARK_FAULTS = 11,  /* buffer gets the number of instructions that faulted */
    GASMARK_CONFINE = 12, /* confine the process with the filter of sandbox/contract_filter.h;
                           * buffer receives 0 or an errno */
    GASMARK_COUNT = 13,   /* number of marks */
};

/* A region counts the instructions of these threads. */
enum gasmark_scope {
    GASMARK_THREAD = 0,  /* the thread that started it; each thread has its own region */
    GASMARK_PROCESS = 1, /* all threads; any thread may stop it. Exact when no other
                            thread runs at the moment of start and stop */
};

/* How precisely the counter counts. Block precision is faster. The counter switches to instruction
 * precision by itself when a program installs a handler for SIGSEGV, SIGBUS, SIGFPE, SIGILL or
 * SIGTRAP, or makes memory writable and executable at once. A user can force either. */
enum gasmark_precision {
    GASMARK_BLOCK = 0,       /* exact while nothing faults: while gasmark_faults() is 0 */
    GASMARK_INSTRUCTION = 1, /* exact always */
};

struct gasmark_hello {
    uint64_t magic;     /* GASMARK_MAGIC */
    uint32_t version;   /* GASMARK_VERSION of the counter */
    uint32_t precision; /* enum gasmark_precision at this moment */
};

/* The totals of a region, in one answer, because each mark costs about a microsecond. */
struct gasmark_totals {
    uint64_t instructions;
    uint64_t bytes_read;
    uint64_t bytes_written;
};

#define GASMARK_MAGIC UINT64_C(0x6b72616d736167) /* "gasmark" */

/* Assembler: GASMARK_PUSH saves the callee-saved registers of a function that switches stacks;
 * GASMARK_POP_AND_RETURN returns from that function when its stack is in use again. */
#define GASMARK_PUSH                                                                               \
    "push %rbp\n"                                                                                  \
    "push %rbx\n"                                                                                  \
    "push %r12\n"                                                                                  \
    "push %r13\n"                                                                                  \
    "push %r14\n"                                                                                  \
    "push %r15\n"
#define GASMARK_POP_AND_RETURN                                                                     \
    "pop %r15\n"                                                                                   \
    "pop %r14\n"                                                                                   \
    "pop %r13\n"                                                                                   \
    "pop %r12\n"                                                                                   \
    "pop %rbx\n"                                                                                   \
    "pop %rbp\n"                                                                                   \
    "ret\n"

/* Makes one mark. Every mark uses this one instruction, so a mark costs the same number of
 * instructions wherever it is made. errno stays unchanged. */
#ifdef __GASPIPE_METER__
/* With gaspipe-cc, a mark also opens a region of the compiled-in meter. The buffer receives that
 * meter's count if no counter is loaded (gasmeter.h). */
void gasmeter_mark(unsigned mark, void *buffer, unsigned long size);

static inline void gasmark_call(enum gasmark mark, void *buffer, unsigned long size)
{
    gasmeter_mark((unsigned)mark, buffer, size);
}
#else
static inline void gasmark_call(enum gasmark mark, void *buffer, unsigned long size)
{
    unsigned descriptor = 0xcafebabeU + (unsigned)mark;

#ifdef __x86_64__
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "0"(0L), "D"((unsigned long)descriptor), "S"(buffer), "d"(size)
                     : "rcx", "r11", "memory");
    (void)result;
#else
    if (read((int)descriptor, buffer, size) < 0) {
        /* The read always fails, so the mark has no effect without a counter. */
    }
#endif
}
#endif

/* Makes a mark that asks for a number. Returns it, or GASMARK_NONE without a counter. */
static inline uint64_t gasmark_ask(enum gasmark mark)
{
    uint64_t number = GASMARK_NONE;

    gasmark_call(mark, &number, sizeof number);
    return number;
}

static inline void gasmark_pass(enum gasmark mark, uint64_t number)
{
    gasmark_call(mark, &number, sizeof number);
}

/* Returns 1 if a counter is loaded, 0 if none is, -1 if it has another version. */
static inline int gasmark_present(void)
{
    struct gasmark_hello hello;

    memset(&hello, 0, sizeof hello);
    gasmark_call(GASMARK_HELLO, &hello, sizeof hello);
    if (hello.magic != GASMARK_MAGIC)
        return 0;
    return hello.version == GASMARK_VERSION ? 1 : -1;
}

/* Opens the calling thread's region at zero (or the process's, see gasmark_set_scope()). */
static inline void gasmark_start(void)
{
    char unused = 0;

    gasmark_call(GASMARK_START, &unused, 1);
}

/* Closes the region. Returns its instructions, 0 if none was open, GASMARK_NONE without a counter.
 * The bytes that it read and wrote remain available until the next start. */
static inline uint64_t gasmark_stop(void)
{
    return gasmark_ask(GASMARK_STOP);
}

/* Like gasmark_stop(), but also returns bytes and system calls, in one mark. */
static inline struct gasmark_totals gasmark_stop_totals(void)
{
    struct gasmark_totals totals = {GASMARK_NONE, GASMARK_NONE, GASMARK_NONE};

    gasmark_call(GASMARK_STOP, &totals, sizeof totals);
    return totals;
}

static inline void gasmark_pause(void)
{
    char unused = 0;

    gasmark_call(GASMARK_PAUSE, &unused, 1);
}

static inline void gasmark_resume(void)
{
    char unused = 0;

    gasmark_call(GASMARK_RESUME, &unused, 1);
}

/* Returns the region's instructions so far, including this mark's system call. */
static inline uint64_t gasmark_peek(void)
{
    return gasmark_ask(GASMARK_PEEK);
}

static inline uint64_t gasmark_bytes_read(void)
{
    return gasmark_ask(GASMARK_BYTES_READ);
}

static inline uint64_t gasmark_bytes_written(void)
{
    return gasmark_ask(GASMARK_BYTES_WRITTEN);
}

static inline uint64_t gasmark_syscalls(void)
{
    return gasmark_ask(GASMARK_SYSCALLS);
}

/* Returns the instructions in the region that began and did not complete. */
static inline uint64_t gasmark_faults(void)
{
    return gasmark_ask(GASMARK_FAULTS);
}

/* Limits regions that start afterwards; 0 removes the limit. A process whose region exceeds
 * `instructions` exits with GASMARK_EXIT_LIMIT, at its stop mark at the latest. */
static inline void gasmark_limit(uint64_t instructions)
{
    gasmark_pass(GASMARK_LIMIT, instructions);
}

/* Confines the process, including QEMU: it can only compute, use its open descriptors and exit. The
 * counter does this because a guest cannot confine QEMU. Returns 0, an errno, or GASMARK_NONE
 * without a counter. */
static inline uint64_t gasmark_confine(void)
{
    return gasmark_ask(GASMARK_CONFINE);
}

/* Holds for regions of the calling thread that start afterwards. */
static inline void gasmark_set_scope(enum gasmark_scope scope)
{
    gasmark_pass(GASMARK_SCOPE, scope);
}

#endif
