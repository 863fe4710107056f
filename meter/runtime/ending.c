/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "meter/gasmeter.h"
#include "meter/runtime/profile.h"
#include "meter/runtime/state.h"

/* ---- signals ---- */

/* sigaction() and signal() of metered code call these, so that a handler that interrupts a flush
 * loses no units (count_restore()). */

#define SIGNALS 65

typedef void handler(int number);

int gasmeter_call_sigaction(int number, const struct sigaction *action, struct sigaction *old);
handler *gasmeter_call_signal(int number, handler *function);

static struct sigaction actions[SIGNALS]; /* as the program set them */
static bool reports_deaths;

/* Signals that kill a program by default and allow a last report. The stack may be used up. */
static const int deadly[] = {
    SIGHUP,  SIGINT,  SIGQUIT, SIGILL,  SIGTRAP, SIGABRT,   SIGBUS,  SIGFPE,  SIGUSR1, SIGSEGV,
    SIGUSR2, SIGPIPE, SIGALRM, SIGTERM, SIGXCPU, SIGVTALRM, SIGPROF, SIGXFSZ, SIGSYS,
};

static bool is_deadly(int number)
{
    for (size_t i = 0; i < sizeof deadly / sizeof *deadly; i++)
        if (deadly[i] == number)
            return true;
    return false;
}

/* QEMU 7.2 calls x86-64 handlers with a stack misaligned by 8 bytes, on which aligned 16-byte
 * stores crash. */
#ifdef __x86_64__
#define ALIGNS_STACK __attribute__((force_align_arg_pointer))
#else
#define ALIGNS_STACK
#endif

/* SA_RESETHAND was set, so raising the signal again kills. */
ALIGNS_STACK static void report_death(int number)
{
    report_write("signal", number);
    raise(number);
}

ALIGNS_STACK static void handle(int number, siginfo_t *info, void *context)
{
    const struct sigaction *action = &actions[number];
    struct profile_node *const caller = profile_caller();
    struct count_saved saved;

    count_save(&saved);
    if (action->sa_flags & SA_SIGINFO)
        action->sa_sigaction(number, info, context);
    else
        action->sa_handler(number);
    count_restore(&saved);
    profile_set_caller(caller);
}

static bool is_function(const struct sigaction *action)
{
    return (action->sa_flags & SA_SIGINFO) ||
           (action->sa_handler != SIG_DFL && action->sa_handler != SIG_IGN);
}

static void watch_death(int number, struct sigaction *action)
{
    action->sa_handler = report_death;
    action->sa_flags = SA_RESETHAND | SA_ONSTACK | SA_NODEFER;
    /* No sigemptyset(): it might be metered. */
    memset(&action->sa_mask, 0, sizeof action->sa_mask);
    (void)number;
}

int gasmeter_call_sigaction(int number, const struct sigaction *action, struct sigaction *old)
{
    struct sigaction before, given;

    if (number <= 0 || number >= SIGNALS)
        return sigaction(number, action, old);
    before = actions[number];
    if (action) {
        given = *action;
        if (is_function(action)) {
            actions[number] = *action;
            given.sa_sigaction = handle;
            given.sa_flags |= SA_SIGINFO;
        } else if (action->sa_handler == SIG_DFL && reports_deaths && is_deadly(number)) {
            watch_death(number, &given);
        }
    }
    struct sigaction found;
    if (sigaction(number, action ? &given : NULL, &found))
        return -1;
    if (action && !is_function(action))
        actions[number] = *action;
    if (old) {
        *old = found;
        if ((found.sa_flags & SA_SIGINFO) && found.sa_sigaction == handle)
            *old = before;
        else if (found.sa_handler == report_death)
            *old = (struct sigaction){.sa_handler = SIG_DFL};
    }
    return 0;
}

handler *gasmeter_call_signal(int number, handler *function)
{
    struct sigaction action = {.sa_handler = function, .sa_flags = SA_RESTART}, old;

    sigemptyset(&action.sa_mask);
    return gasmeter_call_sigaction(number, &action, &old) ? SIG_ERR : old.sa_handler;
}

/* Makes deadly signals write the line of GASMETER_OUT first, unless the program changed their
 * action earlier: nohup's SIGHUP stays ignored. */
static void handlers_report_deaths(void)
{
    static char space[16384] __attribute__((aligned(16)));
    stack_t stack = {.ss_sp = space, .ss_size = sizeof space};

    reports_deaths = true;
    if (sigaltstack(&stack, NULL))
        return;
    for (size_t i = 0; i < sizeof deadly / sizeof *deadly; i++) {
        struct sigaction now, action = {0};

        if (sigaction(deadly[i], NULL, &now) || now.sa_handler != SIG_DFL)
            continue;
        watch_death(deadly[i], &action);
        /* On failure, this signal kills without a report. */
        (void)!sigaction(deadly[i], &action, NULL);
    }
}

/* ---- beginning and end of a process ---- */

/* Metered exit functions call these. */

void gasmeter_call_exit(int status) __attribute__((noreturn));

static pid_t process;
#ifdef __GLIBC__
static int exit_status;
#endif

static void end_spent(void)
{
    static const char words[] = "gasmeter: the budget is spent\n";

    report_write("budget", GASMETER_EXIT_SPENT);
    /* An error here cannot be reported. */
    (void)!write(STDERR_FILENO, words, sizeof words - 1);
    _exit(GASMETER_EXIT_SPENT);
}

bool process_is_own(void)
{
    return getpid() == process;
}

void gasmeter_call_exit(int status)
{
    if (process_is_own())
        report_write("exit", status);
    _exit(status);
}

/* Metered exit() and quick_exit() of musl end in gasmeter_call_exit(); glibc's need a handler. */
#ifdef __GLIBC__
static void note_status(int status, void *unused)
{
    (void)unused;
    exit_status = status;
}

static void report_quick_exit(void)
{
    report_write("exit", 0);
}

static void listen_for_end(void)
{
    on_exit(note_status, NULL);
    if (at_quick_exit(report_quick_exit) != 0) {
        /* On failure, quick_exit() writes no line, like a kill. */
    }
}

/* Runs after all other destructors. */
__attribute__((destructor(101))) static void end(void)
{
    report_write("exit", exit_status);
}
#else
/* Code that runs before the count begins. */
static const char start_code[] __attribute__((section("gasmeter_notes"), used)) =
    "C _start\0C __libc_start_main\0C __init_tls";

/* Used by musl's posix_spawn(): the child shares the memory until it executes another program. */
int gasmeter_call_clone(int (*function)(void *), void *stack, int flags, void *argument, ...);
int __clone(int (*function)(void *), void *stack, int flags, void *argument, ...);

int gasmeter_call_clone(int (*function)(void *), void *stack, int flags, void *argument, ...)
{
    const uint64_t before = count_of_thread();
    int result = __clone(function, stack, flags, argument);

    count_set(before);
    return result;
}

static void listen_for_end(void)
{
}
#endif

static void restart_in_child(void)
{
    process = getpid();
    count_restart();
    profile_restart();
}

static uint64_t budget_of_environment(void)
{
    const char *text = getenv("GASMETER_BUDGET");
    char *end;
    uint64_t budget;

    if (!text || !*text)
        return GASMETER_UNLIMITED;
    errno = 0;
    budget = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || errno) {
        fprintf(stderr, "gasmeter: GASMETER_BUDGET is '%s', which is not a number of units\n",
                text);
        _exit(2);
    }
    return budget;
}

/* Runs before all other constructors of the program, or at the first flush of a library's
 * constructor. The functions it calls may be metered. */
__attribute__((constructor(101))) void runtime_begin(void)
{
    static bool begun;
    const uint64_t before = count_of_thread();

    if (begun)
        return;
    begun = true;
    process = getpid();
    count_begin(budget_of_environment(), end_spent);
    pthread_atfork(NULL, NULL, restart_in_child);
    listen_for_end();
    if (report_wanted())
        handlers_report_deaths();
    count_set(before);
}
