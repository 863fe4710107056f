/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program to be traced: `traced WHAT` does one thing that is hard on tracers, and prints what
 * came of it, which is the same without a tracer. Functions that tests count are named t_*.
 */
#include <errno.h>
#include <execinfo.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#ifdef __clang__
#define APART static __attribute__((noinline, optnone, used))
#else
#define APART static __attribute__((noinline, noipa, used))
#endif

static volatile long sink;
static volatile bool always = true; /* as the compiler does not know */

APART long t_leaf(long number)
{
    return number * 3 + 1;
}

APART long t_middle(long number)
{
    const long inner = t_leaf(number);

    sink = inner;
    return inner + 1;
}

APART long t_fib(long number)
{
    long first, second;

    if (number < 2)
        return number;
    first = t_fib(number - 1);
    second = t_fib(number - 2);
    sink = first; /* gcc would make a loop of the second call */
    return first + second;
}

/* Calls a function until no jump stands at its beginning. */
static int do_hot(void)
{
    const volatile unsigned char *const text = (const volatile unsigned char *)(uintptr_t)t_leaf;
    long calls = 0;

    while (*text == 0xe9 && calls < 100000000)
        sink = t_leaf(calls++);
    printf("%s\n", *text == 0xe9 ? "a jump" : "no jump");
    return 0;
}

static int do_calls(void)
{
    long sum = 0;

    for (long i = 0; i < 1000; i++)
        sum += t_middle(i);
    printf("%ld %ld\n", sum, t_fib(15));
    return 0;
}

/* ---- left without returning ---- */

static jmp_buf place;

APART void t_thrower(long depth)
{
    char bytes[64];

    memset(bytes, (int)depth, sizeof bytes);
    sink = (unsigned char)bytes[depth % 64];
    if (depth == 0)
        longjmp(place, 1);
    if (always)
        t_thrower(depth - 1);
    sink++;
}

APART long t_catcher(long depth)
{
    if (setjmp(place) == 0)
        t_thrower(depth);
    return t_leaf(depth);
}

static int do_longjmp(void)
{
    long sum = 0;

    for (long i = 0; i < 1000; i++)
        sum += t_catcher(i % 10);
    printf("%ld\n", sum);
    return 0;
}

APART long t_tail_last(long number)
{
    return number + 7;
}

APART long t_tail(long number)
{
    sink = number;
    return t_tail_last(number + 1); /* a jump */
}

APART long t_ping(long number);
APART long t_pong(long number)
{
    sink = number;
    return number == 0 ? 5 : t_ping(number - 1);
}

APART long t_ping(long number)
{
    sink = number;
    return number == 0 ? 4 : t_pong(number - 1);
}

/* The second is a loop made of jumps: neither stack may grow with it. */
static int do_tail(void)
{
    long sum = 0;

    for (long i = 0; i < 1000; i++)
        sum += t_tail(i);
    printf("%ld %ld\n", sum, t_ping(3000001));
    return 0;
}

/* ---- signals ---- */

static volatile long handled;
static sigjmp_buf out;
static volatile sig_atomic_t may_jump;

APART void t_handler(int number)
{
    handled += t_leaf(number) > 0;
}

APART void t_jumper(int number)
{
    (void)number;
    if (may_jump)
        siglongjmp(out, 1);
}

static void every_100_microseconds(void)
{
    const struct itimerval interval = {.it_interval = {.tv_usec = 100},
                                       .it_value = {.tv_usec = 100}};

    if (setitimer(ITIMER_REAL, &interval, NULL) != 0)
        abort();
}

static void handle(void (*handler)(int), int flags)
{
    const struct sigaction action = {.sa_handler = handler, .sa_flags = flags};

    if (sigaction(SIGALRM, &action, NULL) != 0)
        abort();
}

static int do_signals(void)
{
    static char space[65536];
    const stack_t stack = {.ss_sp = space, .ss_size = sizeof space};
    const stack_t none = {.ss_flags = SS_DISABLE};
    long sum = 0;

    handle(t_handler, SA_RESTART);
    every_100_microseconds();
    while (handled < 500)
        sum = t_fib(20);
    if (sigaltstack(&stack, NULL) != 0)
        return 1;
    handle(t_handler, SA_RESTART | SA_ONSTACK);
    while (handled < 1000)
        sum = t_fib(20);
    handle(SIG_IGN, 0);
    if (sigaltstack(&none, NULL) != 0)
        return 1;
    printf("%ld\n", sum);
    return 0;
}

/* A stack for signals above the thread's own: its frames are not above those in time. */
APART long t_on_high_stack(char *space, size_t size)
{
    const stack_t stack = {.ss_sp = space, .ss_size = size};
    char low[512 * 1024];
    long sum;

    memset(low, 1, sizeof low);
    if (sigaltstack(&stack, NULL) != 0)
        return -1;
    handle(t_handler, SA_ONSTACK);
    sum = t_fib(10) + raise(SIGALRM) + t_fib(10);
    return sum + low[sum & 1];
}

static int do_high_stack(void)
{
    char space[65536];
    long sum = 0;

    for (int i = 0; i < 100; i++)
        sum += t_on_high_stack(space, sizeof space);
    printf("%ld %ld\n", sum, handled);
    return 0;
}

static int do_signal_jumps(void)
{
    volatile long jumps = 0;

    handle(t_jumper, SA_NODEFER);
    every_100_microseconds();
    while (jumps < 300) {
        if (sigsetjmp(out, 1) == 0) {
            may_jump = 1;
            for (;;)
                sink = t_fib(12);
        }
        may_jump = 0;
        jumps++;
    }
    handle(SIG_IGN, 0);
    printf("%ld\n", t_fib(15));
    return 0;
}

/* ---- threads ---- */

APART void *t_thread(void *context)
{
    return (void *)t_fib((long)context);
}

static int do_threads(void)
{
    enum { THREADS = 8, ROUNDS = 25 };
    pthread_t threads[THREADS];
    long sum = 0;

    for (int round = 0; round < ROUNDS; round++) {
        for (long i = 0; i < THREADS; i++)
            if (pthread_create(&threads[i], NULL, t_thread, (void *)(10 + i)) != 0)
                return 1;
        for (int i = 0; i < THREADS; i++) {
            void *result;

            if (pthread_join(threads[i], &result) != 0)
                return 1;
            sum += (long)result;
        }
    }
    printf("%ld\n", sum);
    return 0;
}

static void note_cleaned(const int *unused)
{
    (void)unused;
    sink++;
}

APART void t_exits(long depth)
{
    __attribute__((cleanup(note_cleaned))) int cleaned = 0;

    (void)cleaned;
    if (depth == 0)
        pthread_exit((void *)7);
    if (always)
        t_exits(depth - 1);
    sink = sink + 0;
}

APART void *t_cancelled(void *context)
{
    t_exits((long)context);
    return NULL;
}

/* Unwinds the stack and runs what is to be cleaned up on it, as an exception of C++ does. */
static int do_unwind(void)
{
    pthread_t thread;
    void *result;

    for (int i = 0; i < 10; i++)
        if (pthread_create(&thread, NULL, t_cancelled, (void *)9) != 0 ||
            pthread_join(thread, &result) != 0 || result != (void *)7)
            return 1;
    printf("%ld cleaned up\n", sink);
    return 0;
}

APART int t_backtrace(long depth)
{
    void *frames[64];

    if (depth > 0) {
        const int count = t_backtrace(depth - 1);

        sink++;
        return count;
    }
    return backtrace(frames, 64);
}

static int do_backtrace(void)
{
    printf("%s\n", t_backtrace(10) >= 13 ? "whole" : "cut");
    return 0;
}

/* ---- other stacks, other processes ---- */

static ucontext_t contexts[3];
static volatile long turns;

APART void t_turn(long which)
{
    /* cppcheck-suppress swapcontextCalled */
    if (swapcontext(&contexts[which], &contexts[3 - which]) != 0)
        abort();
    turns++;
}

APART void t_coroutine(int which)
{
    for (int i = 0; i < 50; i++)
        t_turn(which);
}

static void prepare_coroutine(int which, char *space, size_t size)
{
    /* cppcheck-suppress getcontextCalled */
    if (getcontext(&contexts[which]) != 0)
        abort();
    contexts[which].uc_stack = (stack_t){.ss_sp = space, .ss_size = size};
    contexts[which].uc_link = &contexts[0];
    makecontext(&contexts[which], (void (*)(void))t_coroutine, 1, which);
}

static int do_coroutines(void)
{
    static char rooms[2][65536];

    prepare_coroutine(1, rooms[1], sizeof rooms[1]);
    prepare_coroutine(2, rooms[0], sizeof rooms[0]);
    /* cppcheck-suppress swapcontextCalled */
    if (swapcontext(&contexts[0], &contexts[1]) != 0)
        return 1;
    printf("%ld\n", turns);
    return 0;
}

/* ---- more frames on other stacks than an agent keeps without asking for memory ---- */

enum { SLEEPERS = 300, SLEEPER_DEPTH = 40, SLEEPER_ROOM = 65536 };

static ucontext_t sleepers[SLEEPERS], waker;

APART long t_sleeps(long which, long depth)
{
    long result;

    if (depth == 0) {
        /* cppcheck-suppress swapcontextCalled */
        return swapcontext(&sleepers[which], &waker) == 0 ? 0 : -1;
    }
    result = t_sleeps(which, depth - 1) + 1;
    __asm__ volatile("" : "+r"(result));
    return result;
}

static void begin_sleeper(int which)
{
    turns += t_sleeps(which, SLEEPER_DEPTH);
}

/* In a function of its own, since getcontext() may return twice. */
static bool sleeper_prepare(int which, char *space)
{
    /* cppcheck-suppress getcontextCalled */
    if (getcontext(&sleepers[which]) != 0)
        return false;
    sleepers[which].uc_stack = (stack_t){.ss_sp = space, .ss_size = SLEEPER_ROOM};
    sleepers[which].uc_link = &waker;
    makecontext(&sleepers[which], (void (*)(void))begin_sleeper, 1, which);
    return true;
}

static bool sleeper_resume(int which)
{
    /* cppcheck-suppress swapcontextCalled */
    return swapcontext(&waker, &sleepers[which]) == 0;
}

static int do_sleepers(void)
{
    char *const rooms = malloc((size_t)SLEEPERS * SLEEPER_ROOM);
    bool good = rooms != NULL;

    for (int i = 0; good && i < SLEEPERS; i++)
        good = sleeper_prepare(i, rooms + (size_t)i * SLEEPER_ROOM);
    for (int i = 0; good && i < 2 * SLEEPERS; i++) {
        good = sleeper_resume(i % SLEEPERS);
        turns += t_leaf(0);
    }
    free(rooms);
    printf("%ld\n", turns);
    return good ? 0 : 1;
}

APART long t_forks(long number)
{
    const pid_t child = fork();
    int status = 0;

    if (child == 0)
        return t_fib(20) + number;
    return child > 0 && waitpid(child, &status, 0) == child && status == 0 ? t_leaf(number) : -1;
}

static int do_fork(void)
{
    const pid_t own = getpid();
    const long result = t_forks(1);

    if (getpid() != own)
        _exit(result == 6766 && t_fib(20) == 6765 ? 0 : 1);
    printf("%ld\n", result);
    return 0;
}

/* ---- hard to patch ---- */

__asm__(".text\n.globl t_short\n.type t_short,@function\nt_short: mov %edi,%eax\nret\n"
        ".size t_short,.-t_short\n"
        ".globl t_after_lea\n.type t_after_lea,@function\nt_after_lea: lea 1(%rdi),%rax\nret\n"
        ".size t_after_lea,.-t_after_lea\n"
        ".globl t_loop\n.type t_loop,@function\nt_loop: nop\n1: dec %edi\njnz 1b\n"
        "mov $42,%eax\nret\n.size t_loop,.-t_loop\n"
        ".globl t_calls_first\n.type t_calls_first,@function\nt_calls_first:\n.cfi_startproc\n"
        "push %rbx\n.cfi_def_cfa_offset 16\ncall t_leaf\npop %rbx\n.cfi_def_cfa_offset 8\nret\n"
        ".cfi_endproc\n.size t_calls_first,.-t_calls_first\n");
long t_short(long number);
long t_after_lea(long number);
long t_loop(long number);
long t_calls_first(long number);

static int do_shapes(void)
{
    printf("%ld %ld %ld %ld\n", t_short(5), t_after_lea(5), t_loop(5), t_calls_first(5));
    return 0;
}

/* Untouched memory: a fault for each page. */
APART long t_touches(long pages)
{
    enum { PAGE = 4096 };
    volatile char *const space = mmap(NULL, (size_t)pages * PAGE, PROT_READ | PROT_WRITE,
                                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (space == MAP_FAILED || madvise((void *)space, (size_t)pages * PAGE, MADV_NOHUGEPAGE) != 0)
        return -1;
    for (long i = 0; i < pages; i++)
        space[i * PAGE] = 1;
    return munmap((void *)space, (size_t)pages * PAGE);
}

static int do_touches(void)
{
    printf("%ld\n", t_touches(1000));
    return 0;
}

static int do_killed(void)
{
    sink = t_fib(20);
    return raise(SIGKILL);
}

/* Many more events than a ring holds. */
static int do_many(void)
{
    printf("%ld\n", t_fib(27));
    return 0;
}

/* Says that it is there, and works until it can read a line. */
static int do_wait(void)
{
    char line[16];

    printf("ready\n");
    if (fflush(stdout) != 0)
        return 1;
    while (fgets(line, sizeof line, stdin) != NULL && strcmp(line, "end\n") != 0) {
        printf("%ld\n", t_fib(15));
        if (fflush(stdout) != 0)
            return 1;
    }
    return 0;
}

/* A signal comes at the second instruction, and its handler returns there when a line has come. */
__asm__(
    ".text\n.globl t_held\n.type t_held,@function\nt_held: nop\nmov (%rdi),%eax\nnop\nnop\nnop\n"
    "ret\n.size t_held,.-t_held\n");
int t_held(const int *number);

static void wait_for_line(int number, siginfo_t *unused, void *context)
{
    static const int answer = 42;
    ucontext_t *const interrupted = context;
    char line[16];

    (void)number;
    (void)unused;
    if (puts("ready") < 0 || fflush(stdout) != 0 || fgets(line, sizeof line, stdin) == NULL)
        _exit(1);
    interrupted->uc_mcontext.gregs[REG_RDI] = (greg_t)(uintptr_t)&answer;
}

static int do_held(void)
{
    const struct sigaction action = {.sa_sigaction = wait_for_line, .sa_flags = SA_SIGINFO};

    if (sigaction(SIGSEGV, &action, NULL) != 0)
        return 1;
    printf("%d\n", t_held(NULL));
    return 0;
}

/* Threads that are busy until a line comes. */
static volatile bool busy_over;

static void *compute(void *context)
{
    long sum = 0;

    while (!busy_over)
        sum |= t_fib((long)context) != 610;
    return (void *)sum;
}

/* Signals, each of which is sent when the one before has been handled. */
static volatile long noted, rounds;
static volatile bool signals_over;
static pthread_t noting[2];

APART void t_note(int number)
{
    noted += number != 0;
}

static void *compute_with_signals(void *context)
{
    while (!signals_over) {
        sink = t_fib(5);
        rounds++;
    }
    return context;
}

/* One that is not handled in the time of so many rounds is lost. They take half a second or more,
 * as a thread waits for its turn on a busy machine. */
static bool is_noted(long sent)
{
    enum { ROUNDS = 20000000 };
    const long begin = rounds;

    while (noted != sent && rounds - begin < ROUNDS)
        continue;
    return noted == sent;
}

static void *send_signals(void *context)
{
    bool good = true;

    (void)context;
    for (long sent = 1; good && !busy_over; sent++)
        good = pthread_kill(noting[sent % 2], SIGUSR1) == 0 && is_noted(sent);
    signals_over = true;
    return good ? NULL : (void *)1;
}

static int do_busy(void)
{
    static void *(*const acts[])(void *) = {compute, compute, compute_with_signals, send_signals};
    enum { THREADS = sizeof acts / sizeof *acts };
    const struct sigaction action = {.sa_handler = t_note, .sa_flags = SA_RESTART};
    pthread_t threads[THREADS];
    char line[16];
    void *result;
    long wrong = 0;

    if (sigaction(SIGUSR1, &action, NULL) != 0)
        return 1;
    noting[0] = pthread_self();
    for (int i = 0; i < THREADS; i++) {
        noting[1] = i == THREADS - 1 ? threads[i - 1] : noting[0];
        if (pthread_create(&threads[i], NULL, acts[i], (void *)(i < 2 ? 15L : 0L)) != 0)
            return 1;
    }
    if (puts("ready") < 0 || fflush(stdout) != 0 || fgets(line, sizeof line, stdin) == NULL)
        return 1;
    busy_over = true;
    for (int i = 0; i < THREADS; i++)
        wrong += pthread_join(threads[i], &result) != 0 || result != NULL;
    printf("%ld wrong\n", wrong);
    return 0;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*act)(void);
    } acts[] = {
        {"calls", do_calls},
        {"longjmp", do_longjmp},
        {"tail", do_tail},
        {"signals", do_signals},
        {"high-stack", do_high_stack},
        {"signal-jumps", do_signal_jumps},
        {"threads", do_threads},
        {"unwind", do_unwind},
        {"backtrace", do_backtrace},
        {"coroutines", do_coroutines},
        {"sleepers", do_sleepers},
        {"fork", do_fork},
        {"shapes", do_shapes},
        {"touches", do_touches},
        {"killed", do_killed},
        {"many", do_many},
        {"wait", do_wait},
        {"busy", do_busy},
        {"hot", do_hot},
        {"held", do_held},
    };

    for (size_t i = 0; argc == 2 && i < sizeof acts / sizeof *acts; i++)
        if (strcmp(argv[1], acts[i].name) == 0)
            return acts[i].act();
    fprintf(stderr, "usage: traced WHAT\n");
    return 2;
}
