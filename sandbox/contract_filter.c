/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/contract_filter.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sandbox/guest_syscalls.h"
#include "sandbox/syscall_name.h"

static void put_own_pid(struct sock_filter *lines, size_t length)
{
    const uint32_t own = (uint32_t)getpid();

    for (size_t i = 0; i < length; i++)
        if (lines[i].code == (BPF_JMP | BPF_JEQ | BPF_K) && lines[i].k == FILTER_OWN_PID)
            lines[i].k = own;
}

int filter_program_enter(const struct sock_filter *program, size_t length, bool whole_process)
{
    struct sock_filter lines[FILTER_PROGRAM_MAX];
    const struct sock_fprog filter = {.len = (unsigned short)length, .filter = lines};
    long result;

    if (length > FILTER_PROGRAM_MAX)
        return E2BIG;
    memcpy(lines, program, length * sizeof *lines);
    put_own_pid(lines, length);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return errno;
    result = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
                     whole_process ? SECCOMP_FILTER_FLAG_TSYNC : 0, &filter);
    if (result < 0)
        return errno;
    return result == 0 ? 0 : ESRCH; /* a thread that could not follow */
}

#ifndef FOREIGN_FILTERS
static const struct sock_filter program[] = {
#include <contract_filter.inc> /* compiled from sandbox/filters/contract_rules.c */
};

static char *append_syscall_number(char *to, unsigned number)
{
    if (number >= 10)
        to = append_syscall_number(to, number / 10);
    *to = (char)('0' + number % 10);
    return to + 1;
}

static void name_call(unsigned number, const char *name)
{
    char line[128], *end = stpcpy(line, CONTRACT_FILTER_REFUSES);

    end = name != NULL ? stpcpy(end, name) : append_syscall_number(end, number);
    *end++ = '\n';
    if (write(STDERR_FILENO, line, (size_t)(end - line)) < 0)
        errno = 0; /* the signal says the rest */
}

/* Entered only once: SA_RESETHAND, and the filter prevents another handler. */
static void end_by_filter(int signal, siginfo_t *info, void *context)
{
    (void)context;
    if (info->si_code > 0) /* the filter, not raise() */
        name_call((unsigned)info->si_syscall, syscall_name((unsigned)info->si_syscall));
    (void)raise(signal);
    _exit(128 + signal); /* only if the signal is blocked */
}

static bool entered;

void sandbox_check_process_call(long number)
{
    if (entered && (number == GUEST_FORK || number == GUEST_VFORK || number == GUEST_CLONE)) {
        name_call((unsigned)number, guest_syscall_name((size_t)number));
        (void)raise(SIGSYS);
    }
}

static int contract_filter_enter(bool whole_process)
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
/* The metered worker of another machine than the build's, only run in tests. */
static int contract_filter_enter(bool whole_process)
{
    (void)whole_process;
    return ENOSYS;
}

void sandbox_check_process_call(long number)
{
    (void)number;
}
#endif

int sandbox_enter_contract_filter(bool whole_process)
{
    if (SANDBOX_SANITIZED)
        return EOPNOTSUPP;
    /* execve() made the process dumpable again, so the sandbox's start could not do this. */
    if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0)
        return errno;
    return contract_filter_enter(whole_process);
}
