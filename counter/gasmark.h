/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASMARK_H
#define GASMARK_H

#include <stdint.h>
#include <string.h>
#include <unistd.h>

/*
 * Marks around the part of a program whose machine instructions are to be
 * counted. The header stands alone; copy it where you need it.
 *
 * A mark is a read(2) from a descriptor that does not exist. Under a plain
 * kernel, and under QEMU without the counter, that fails with EBADF and changes
 * nothing: the same binary runs with and without a counter. Under
 * `qemu-x86_64 -plugin libgascount.so` the read fails with EBADF as well, but
 * the counter has seen it, and where the mark asks for a number the number now
 * stands in the buffer. A wrapper here therefore fills its buffer with
 * GASMARK_NONE first and returns what it finds in it afterwards.
 *
 * What is counted: the instructions that the thread executes after the
 * `syscall` instruction of the start mark, up to and including the `syscall`
 * instruction of the stop mark. The same holds between resume and pause. So the
 * few instructions with which the stop's wrapper loads its registers are
 * counted; they are the same number each time. An instruction that faults is
 * not counted; when it is executed again after a handler has returned, it is.
 * A `rep` string instruction of N iterations counts N + 1, unless the counter
 * was loaded with rep=once.
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
 * 0x0afebabe may stand for 0xcafebabe throughout.
 */

/* What the counter tells with GASMARK_HELLO; a counter of another version is not used. */
#define GASMARK_VERSION 1

/* In place of a number: no counter is there. No count ever gets that high. */
#define GASMARK_NONE UINT64_MAX

/* The exit status of a process whose region went over its limit. */
#define GASMARK_EXIT_LIMIT 30

/*
 * The descriptors. Where a buffer is given, it holds eight bytes in the byte
 * order of the machine, but for GASMARK_HELLO.
 */
enum gasmark {
    GASMARK_START = 0,         /* begin at zero, also when a region was open */
    GASMARK_STOP = 1,          /* end the region; buffer gets its instructions, or where it
                                  has room for them, a struct gasmark_totals */
    GASMARK_BYTES_READ = 2,    /* buffer gets the bytes that system calls in the region have read */
    GASMARK_BYTES_WRITTEN = 3, /* ... and have written */
    GASMARK_PAUSE = 4,         /* leave the region for a while */
    GASMARK_RESUME = 5,        /* come back to it */
    GASMARK_PEEK = 6,          /* buffer gets the instructions so far; nothing changes */
    GASMARK_LIMIT = 7,         /* buffer holds the limit for regions that start from now on */
    GASMARK_HELLO = 8,         /* buffer gets a struct gasmark_hello */
    GASMARK_SYSCALLS = 9, /* buffer gets the number of system calls in the region, marks left out */
    GASMARK_SCOPE = 10,   /* buffer holds a gasmark_scope for regions that start from now on */
    GASMARK_FAULTS = 11,  /* buffer gets the number of instructions that faulted */
    GASMARK_CONFINE = 12, /* put the whole process under the filter of sandbox/contract_filter.h;
                             buffer gets 0, or the errno that stood in the way */
    GASMARK_COUNT = 13,   /* how many marks there are */
};

/* Whose instructions a region counts. */
enum gasmark_scope {
    GASMARK_THREAD = 0,  /* the thread that started it; each thread has its own region */
    GASMARK_PROCESS = 1, /* all threads; any thread may stop it. Exact when no other
                            thread runs at the moment of start and stop */
};

/*
 * With which precision the counter counts. It goes over from the first, which
 * is faster, to the second by itself when a program installs a handler for
 * SIGSEGV, SIGBUS, SIGFPE, SIGILL or SIGTRAP, or makes memory writable and
 * executable at once; a user can force either.
 */
enum gasmark_precision {
    GASMARK_BLOCK = 0,       /* exact while nothing faults: while gasmark_faults() is 0 */
    GASMARK_INSTRUCTION = 1, /* exact always */
};

struct gasmark_hello {
    uint64_t magic;     /* GASMARK_MAGIC */
    uint32_t version;   /* GASMARK_VERSION of the counter */
    uint32_t precision; /* enum gasmark_precision at this moment */
};

/* What a region came to, all at one mark: each mark costs a microsecond or so. */
struct gasmark_totals {
    uint64_t instructions;
    uint64_t bytes_read;
    uint64_t bytes_written;
};

#define GASMARK_MAGIC UINT64_C(0x6b72616d736167) /* "gasmark" */

/* In assembler: leaves such a stack at the beginning of a function, and goes on from one. */
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

/*
 * Makes one mark. One place for the instruction, so that a mark costs the same
 * number of instructions wherever it is made; errno stays as it was.
 */
#ifdef __GASPIPE_METER__
/* Compiled by gaspipe-cc: the mark makes a region of the compiled-in meter as well, whose
 * number stands in the buffer when no counter is there (gasmeter.h). */
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
        /* It always fails: that is what makes it harmless. */
    }
#endif
}
#endif

/* A mark that asks for a number: that number, or GASMARK_NONE without a counter. */
static inline uint64_t gasmark_ask(enum gasmark mark)
{
    uint64_t number = GASMARK_NONE;

    gasmark_call(mark, &number, sizeof number);
    return number;
}

static inline void gasmark_tell(enum gasmark mark, uint64_t number)
{
    gasmark_call(mark, &number, sizeof number);
}

/* 1: a counter is there; 0: none; -1: one that speaks another version. */
static inline int gasmark_present(void)
{
    struct gasmark_hello hello;

    memset(&hello, 0, sizeof hello);
    gasmark_call(GASMARK_HELLO, &hello, sizeof hello);
    if (hello.magic != GASMARK_MAGIC)
        return 0;
    return hello.version == GASMARK_VERSION ? 1 : -1;
}

/* Opens the calling thread's region (or the process's, see gasmark_set_scope()) at zero. */
static inline void gasmark_start(void)
{
    char unused = 0;

    gasmark_call(GASMARK_START, &unused, 1);
}

/*
 * Closes the region: its instructions, 0 when none was open, GASMARK_NONE
 * without a counter. What it read and wrote can be asked until the next start.
 */
static inline uint64_t gasmark_stop(void)
{
    return gasmark_ask(GASMARK_STOP);
}

/* The same with what it read and wrote, at the price of one mark. */
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

/* The region's instructions up to here, this mark's system call included. */
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

/* Instructions in the region that began and did not complete. */
static inline uint64_t gasmark_faults(void)
{
    return gasmark_ask(GASMARK_FAULTS);
}

/*
 * A process whose region has more than `instructions` ends with exit status
 * GASMARK_EXIT_LIMIT: soon after it passed the limit, and in any case at its
 * stop mark. 0 takes the limit away. Holds for regions that start afterwards.
 */
static inline void gasmark_limit(uint64_t instructions)
{
    gasmark_tell(GASMARK_LIMIT, instructions);
}

/*
 * From now on the process, QEMU included, does no more than compute, read and write the
 * descriptors that it has, and end. 0, an errno, or GASMARK_NONE without a counter: the guest of
 * QEMU cannot do it by itself.
 */
static inline uint64_t gasmark_confine(void)
{
    return gasmark_ask(GASMARK_CONFINE);
}

/* Holds for regions of the calling thread that start afterwards. */
static inline void gasmark_set_scope(enum gasmark_scope scope)
{
    gasmark_tell(GASMARK_SCOPE, scope);
}

#endif
