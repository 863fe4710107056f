/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>

#include "meter/runtime/handlers.h"
#include "meter/runtime/profile.h"
#include "meter/runtime/state.h"

#define SIGNALS 65

typedef void handler(int number);

int gasmeter_call_sigaction(int number, const struct sigaction *action, struct sigaction *old);
handler *gasmeter_call_signal(int number, handler *function);

static struct sigaction actions[SIGNALS]; /* as the program gave them */
static bool reports_deaths;

/* Of what a program dies by default and can say so; its stack may be used up. */
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

/* QEMU 7.2 calls handlers of x86-64 with a stack 8 bytes off, where code that stores 16 at once
 * dies. */
#ifdef __x86_64__
#define ALIGNS_STACK __attribute__((force_align_arg_pointer))
#else
#define ALIGNS_STACK
#endif

/* SA_RESETHAND: the signal kills now that it is raised again. */
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
    /* Metered code comes here: sigemptyset() might be metered as well. */
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

/* Only what nobody has set otherwise before: nohup's SIGHUP stays ignored. */
void handlers_report_deaths(void)
{
    static char room[16384] __attribute__((aligned(16)));
    stack_t stack = {.ss_sp = room, .ss_size = sizeof room};

    reports_deaths = true;
    if (sigaltstack(&stack, NULL))
        return;
    for (size_t i = 0; i < sizeof deadly / sizeof *deadly; i++) {
        struct sigaction now, action = {0};

        if (sigaction(deadly[i], NULL, &now) || now.sa_handler != SIG_DFL)
            continue;
        watch_death(deadly[i], &action);
        /* One that cannot be watched kills without a word. */
        (void)!sigaction(deadly[i], &action, NULL);
    }
}
