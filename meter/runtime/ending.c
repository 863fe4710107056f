/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "meter/gasmeter.h"
#include "meter/runtime/handlers.h"
#include "meter/runtime/profile.h"
#include "meter/runtime/state.h"

/* How metered processes begin and end. */

void gasmeter_call_exit(int status) __attribute__((noreturn));

static pid_t process;
#ifdef __GLIBC__
static int exit_status;
#endif

static void end_spent(void)
{
    static const char words[] = "gasmeter: the budget is spent\n";

    report_write("budget", GASMETER_EXIT_SPENT);
    /* Nobody is there to hear that this failed. */
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

/* Metered exit() and quick_exit() of musl end in gasmeter_call_exit(); glibc's have to be listened
 * to. */
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
        /* Then a quick end writes no line, as a kill does not. */
    }
}

/* After all other destructors. */
__attribute__((destructor(101))) static void end(void)
{
    report_write("exit", exit_status);
}
#else
/* What runs before this part begins to count. */
static const char start_code[] __attribute__((section("gasmeter_notes"), used)) =
    "C _start\0C __libc_start_main\0C __init_tls";

/* posix_spawn() of musl: its child shares the memory until it runs another program. */
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

/* Before all other constructors: theirs count as well. What is called here may be metered itself.
 */
__attribute__((constructor(101))) static void begin(void)
{
    const uint64_t before = count_of_thread();

    process = getpid();
    count_begin(budget_of_environment(), end_spent);
    pthread_atfork(NULL, NULL, restart_in_child);
    listen_for_end();
    if (report_wanted())
        handlers_report_deaths();
    count_set(before);
}
