/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/tight_filter.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sandbox/filter_program.h"
#include "sandbox/sanitized.h"
#include "sandbox/syscall_name.h"

#ifdef __x86_64__
static const struct sock_filter program[] = {
#include <tight_filter.inc> /* compiled from sandbox/filters/tight_rules.c */
};

/* snprintf() is not safe in a handler. */
static char *put_text(char *to, const char *text)
{
    return stpcpy(to, text);
}

static char *put_number(char *to, unsigned number)
{
    if (number >= 10)
        to = put_number(to, number / 10);
    *to = (char)('0' + number % 10);
    return to + 1;
}

static void name_call(unsigned number)
{
    const char *name = syscall_name(number);
    char line[128], *end = put_text(line, TIGHT_FILTER_REFUSES);

    end = name != NULL ? put_text(end, name) : put_number(end, number);
    *end++ = '\n';
    if (write(STDERR_FILENO, line, (size_t)(end - line)) < 0)
        errno = 0; /* the signal says the rest */
}

/* It is entered once: SA_RESETHAND, and no other can be installed under the filter. */
static void end_by_filter(int signal, siginfo_t *info, void *context)
{
    (void)context;
    if (info->si_code > 0) /* the filter, not raise() */
        name_call((unsigned)info->si_syscall);
    (void)raise(signal);
    _exit(128 + signal); /* only if the signal is blocked */
}

static bool entered;

void sandbox_check_process_call(long number)
{
    if (entered && (number == SYS_fork || number == SYS_vfork || number == SYS_clone)) {
        name_call((unsigned)number);
        (void)raise(SIGSYS);
    }
}

static int tight_filter_enter(bool whole_process)
{
    struct sigaction action = {.sa_sigaction = end_by_filter,
                               .sa_flags = SA_SIGINFO | SA_RESETHAND | SA_NODEFER | SA_ONSTACK};
    int result;

    if (sigaction(SIGSYS, &action, NULL) != 0)
        return errno;
    result = filter_program_enter(program, sizeof program / sizeof *program, whole_process);
    entered = result == 0;
    return result;
}
#else
/* The metered worker of another machine, which runs in tests only. */
static int tight_filter_enter(bool whole_process)
{
    (void)whole_process;
    return ENOSYS;
}

void sandbox_check_process_call(long number)
{
    (void)number;
}
#endif

int sandbox_enter_tight_filter(bool whole_process)
{
    if (SANDBOX_SANITIZED)
        return EOPNOTSUPP;
    /* Executing a program made it dumpable again: the sandbox's start could not do this. */
    if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0)
        return errno;
    return tight_filter_enter(whole_process);
}
