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
static int exit_status;

static void end_spent(void)
{
    static const char words[] = "gasmeter: the budget is spent\n";

    /* Nobody is there to hear that this failed. */
    (void)!write(STDERR_FILENO, words, sizeof words - 1);
    report_write("budget", GASMETER_EXIT_SPENT);
    _exit(GASMETER_EXIT_SPENT);
}

/* A child of vfork() has its parent's memory: its end is not the parent's. */
void gasmeter_call_exit(int status)
{
    if (getpid() == process)
        report_write("exit", status);
    _exit(status);
}

static void note_status(int status, void *unused)
{
    (void)unused;
    exit_status = status;
}

static void report_quick_exit(void)
{
    report_write("exit", 0);
}

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

/* Before all other constructors: theirs count as well. */
__attribute__((constructor(101))) static void begin(void)
{
    process = getpid();
    count_begin(budget_of_environment(), end_spent);
    pthread_atfork(NULL, NULL, restart_in_child);
    on_exit(note_status, NULL);
    if (at_quick_exit(report_quick_exit) != 0) {
        /* Then a quick end writes no line, as a kill does not. */
    }
    if (report_wanted())
        handlers_report_deaths();
}

/* After all other destructors. */
__attribute__((destructor(101))) static void end(void)
{
    report_write("exit", exit_status);
}
