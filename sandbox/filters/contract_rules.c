/* SPDX-License-Identifier: Apache-2.0 */
#ifdef __x86_64__
#include <asm/prctl.h>
#endif
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "sandbox/contract_filter.h"
#include "sandbox/filters/rules.h"

static const int allowed[] = {
    /* the first call of a thread that was created shortly before */
    SCMP_SYS(set_robust_list),
    SCMP_SYS(rseq),
    /* waiting for work */
    SCMP_SYS(read),
    SCMP_SYS(write),
    SCMP_SYS(readv),
    SCMP_SYS(writev),
    SCMP_SYS(lseek),
    SCMP_SYS(fstat),
    SCMP_SYS(close),
    SCMP_SYS(dup),
    SCMP_SYS(ftruncate),
    SCMP_SYS(brk),
    SCMP_SYS(munmap),
    SCMP_SYS(madvise),
    SCMP_SYS(mremap),
    SCMP_SYS(getrusage),
    SCMP_SYS(clock_gettime),
    SCMP_SYS(gettimeofday),
    SCMP_SYS(time),
    SCMP_SYS(clock_nanosleep),
    SCMP_SYS(nanosleep),
    SCMP_SYS(futex),
    SCMP_SYS(sched_yield),
    SCMP_SYS(membarrier),
    SCMP_SYS(getpid),
    SCMP_SYS(gettid),
    SCMP_SYS(getrandom),
    SCMP_SYS(rt_sigreturn),
    SCMP_SYS(rt_sigsuspend),
    SCMP_SYS(rt_sigprocmask),
    SCMP_SYS(sigaltstack),
    SCMP_SYS(exit),
    SCMP_SYS(exit_group),
    SCMP_SYS(restart_syscall),
};

/*
 * Calls that only ask, or change nothing outside of the process. Their errors are the same on
 * every machine; their answers are not.
 */
static const struct {
    int number;
    int errnum;
} refused[] = {
    /* files */
    {SCMP_SYS(open), EACCES},
    {SCMP_SYS(openat), EACCES},
    {SCMP_SYS(openat2), EACCES},
    {SCMP_SYS(access), EACCES},
    {SCMP_SYS(faccessat), EACCES},
    {SCMP_SYS(faccessat2), EACCES},
    {SCMP_SYS(stat), EACCES},
    {SCMP_SYS(lstat), EACCES},
    {SCMP_SYS(statx), EACCES},
    {SCMP_SYS(readlink), EACCES},
    {SCMP_SYS(readlinkat), EACCES},
    {SCMP_SYS(statfs), EACCES},
    {SCMP_SYS(fstatfs), ENOSYS},
    {SCMP_SYS(ustat), ENOSYS},
    {SCMP_SYS(sysfs), ENOSYS},
    {SCMP_SYS(getcwd), EACCES},
    {SCMP_SYS(name_to_handle_at), EACCES},
    {SCMP_SYS(getdents), EACCES},
    {SCMP_SYS(getdents64), EACCES},
    {SCMP_SYS(getxattr), EACCES},
    {SCMP_SYS(lgetxattr), EACCES},
    {SCMP_SYS(fgetxattr), EACCES},
    {SCMP_SYS(listxattr), EACCES},
    {SCMP_SYS(llistxattr), EACCES},
    {SCMP_SYS(flistxattr), EACCES},
    {SCMP_SYS(ioctl), ENOTTY},
    {SCMP_SYS(getsockname), ENOTSOCK},
    {SCMP_SYS(getpeername), ENOTSOCK},
    {SCMP_SYS(getsockopt), ENOTSOCK},
    {SCMP_SYS(poll), ENOSYS},
    {SCMP_SYS(ppoll), ENOSYS},
    {SCMP_SYS(select), ENOSYS},
    {SCMP_SYS(pselect6), ENOSYS},
    /* the machine */
    {SCMP_SYS(sysinfo), ENOSYS},
    {SCMP_SYS(uname), ENOSYS},
    {SCMP_SYS(getcpu), ENOSYS},
    {SCMP_SYS(clock_getres), ENOSYS},
    {SCMP_SYS(clock_adjtime), ENOSYS},
    {SCMP_SYS(adjtimex), ENOSYS},
    {SCMP_SYS(syslog), ENOSYS},
    {SCMP_SYS(sched_getaffinity), ENOSYS},
    {SCMP_SYS(sched_getparam), ENOSYS},
    {SCMP_SYS(sched_getscheduler), ENOSYS},
    {SCMP_SYS(sched_getattr), ENOSYS},
    {SCMP_SYS(sched_get_priority_max), ENOSYS},
    {SCMP_SYS(sched_get_priority_min), ENOSYS},
    {SCMP_SYS(sched_rr_get_interval), ENOSYS},
    {SCMP_SYS(getpriority), ENOSYS},
    {SCMP_SYS(ioprio_get), ENOSYS},
    {SCMP_SYS(get_mempolicy), ENOSYS},
    {SCMP_SYS(mincore), ENOSYS},
    /* the process */
    {SCMP_SYS(getrlimit), ENOSYS},
    {SCMP_SYS(times), ENOSYS},
    {SCMP_SYS(getuid), ENOSYS},
    {SCMP_SYS(geteuid), ENOSYS},
    {SCMP_SYS(getgid), ENOSYS},
    {SCMP_SYS(getegid), ENOSYS},
    {SCMP_SYS(getresuid), ENOSYS},
    {SCMP_SYS(getresgid), ENOSYS},
    {SCMP_SYS(getgroups), ENOSYS},
    {SCMP_SYS(getppid), ENOSYS},
    {SCMP_SYS(getpgid), ENOSYS},
    {SCMP_SYS(getpgrp), ENOSYS},
    {SCMP_SYS(getsid), ENOSYS},
    {SCMP_SYS(capget), ENOSYS},
    {SCMP_SYS(getitimer), ENOSYS},
    {SCMP_SYS(timer_gettime), ENOSYS},
    {SCMP_SYS(timer_getoverrun), ENOSYS},
    {SCMP_SYS(rt_sigpending), ENOSYS},
    {SCMP_SYS(get_robust_list), ENOSYS},
    {SCMP_SYS(kcmp), ENOSYS},
    {SCMP_SYS(clone3), ENOSYS}, /* the C library then tries clone() */
};

/* Only with these arguments. */
struct conditional {
    int number;
    unsigned count;
    struct scmp_arg_cmp arguments[2];
};

static int allow_some(scmp_filter_ctx filter)
{
    const struct conditional some[] = {
        /* The limit on a worker's memory does not count shared memory. */
        {SCMP_SYS(mmap),
         2,
         {SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0), SCMP_A3(SCMP_CMP_MASKED_EQ, MAP_SHARED, 0)}},
        {SCMP_SYS(mprotect), 1, {SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0)}},
        {SCMP_SYS(fcntl), 1, {SCMP_A1(SCMP_CMP_LE, F_SETFL, 0)}},
        {SCMP_SYS(fcntl), 1, {SCMP_A1(SCMP_CMP_EQ, F_GETPIPE_SZ, 0)}},
        {SCMP_SYS(newfstatat), 1, {SCMP_A3(SCMP_CMP_EQ, AT_EMPTY_PATH, 0)}},
        /* XS asks for the limit of its stack; the other limits are refused below. */
        {SCMP_SYS(prlimit64),
         2,
         {SCMP_A1(SCMP_CMP_EQ, RLIMIT_STACK, 0), SCMP_A2(SCMP_CMP_EQ, 0, 0)}},
        /* The handler of SIGSYS stays, which says what call ended the process. */
        {SCMP_SYS(rt_sigaction), 1, {SCMP_A0(SCMP_CMP_LT, SIGSYS, 0)}},
        /* The counter accesses its guest's memory with these. */
        {SCMP_SYS(process_vm_readv), 1, {SCMP_A0(SCMP_CMP_EQ, FILTER_OWN_PID, 0)}},
        {SCMP_SYS(process_vm_writev), 1, {SCMP_A0(SCMP_CMP_EQ, FILTER_OWN_PID, 0)}},
        /* abort(), QEMU's signals among its threads, and its end by the guest's signal */
        {SCMP_SYS(kill), 1, {SCMP_A0(SCMP_CMP_EQ, FILTER_OWN_PID, 0)}},
        {SCMP_SYS(tgkill), 1, {SCMP_A0(SCMP_CMP_EQ, FILTER_OWN_PID, 0)}},
    };
    int result = 0;

    for (size_t i = 0; i < sizeof some / sizeof *some && result == 0; i++)
        result = seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, some[i].number, some[i].count,
                                        some[i].arguments);
    return result;
}

/* Calls that ask or act, as an argument says. */
static const struct {
    int number;
    unsigned place; /* the argument's */
    int errnum;
    int asks[18]; /* the last ones are 0 */
} refused_some[] = {
    {SCMP_SYS(fcntl),
     1,
     EINVAL,
     {F_GETLK, F_GETOWN, F_GETOWN_EX, F_GETSIG, F_GETLEASE, F_GET_SEALS, F_GET_RW_HINT}},
    {SCMP_SYS(prctl),
     0,
     EINVAL,
     {PR_GET_PDEATHSIG, PR_GET_DUMPABLE, PR_GET_KEEPCAPS, PR_GET_TIMING, PR_GET_NAME,
      PR_GET_SECCOMP, PR_CAPBSET_READ, PR_GET_TSC, PR_GET_SECUREBITS, PR_GET_TIMERSLACK,
      PR_MCE_KILL_GET, PR_GET_CHILD_SUBREAPER, PR_GET_NO_NEW_PRIVS, PR_GET_TID_ADDRESS,
      PR_GET_THP_DISABLE, PR_GET_SPECULATION_CTRL}},
#ifdef __x86_64__
    {SCMP_SYS(arch_prctl), 0, EINVAL, {ARCH_GET_FS, ARCH_GET_GS, ARCH_GET_CPUID}},
#endif
};

static int refuse_some(scmp_filter_ctx filter)
{
    int result = 0;

    for (size_t i = 0; i < sizeof refused_some / sizeof *refused_some; i++)
        for (const int *ask = refused_some[i].asks; *ask != 0 && result == 0; ask++)
            result = seccomp_rule_add(
                filter, SCMP_ACT_ERRNO((uint16_t)refused_some[i].errnum), refused_some[i].number, 1,
                SCMP_CMP(refused_some[i].place, SCMP_CMP_EQ, (scmp_datum_t)*ask, 0));
    if (result == 0)
        result =
            seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(prlimit64), 2,
                             SCMP_A1(SCMP_CMP_NE, RLIMIT_STACK, 0), SCMP_A2(SCMP_CMP_EQ, 0, 0));
    /* QEMU sets it before it ends by the guest's signal. */
    if (result == 0)
        result = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(prlimit64), 2,
                                  SCMP_A1(SCMP_CMP_EQ, RLIMIT_CORE, 0), SCMP_A2(SCMP_CMP_NE, 0, 0));
    /* By a path; the rule that allows it is for a descriptor. */
    if (result == 0)
        result = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EACCES), SCMP_SYS(newfstatat), 1,
                                  SCMP_A3(SCMP_CMP_NE, AT_EMPTY_PATH, 0));
    return result;
}

int rules_contract(scmp_filter_ctx filter)
{
    int result = 0;

    for (size_t i = 0; i < sizeof allowed / sizeof *allowed && result == 0; i++)
        result = seccomp_rule_add(filter, SCMP_ACT_ALLOW, allowed[i], 0);
    for (size_t i = 0; i < sizeof refused / sizeof *refused && result == 0; i++)
        result = seccomp_rule_add(filter, SCMP_ACT_ERRNO((uint16_t)refused[i].errnum),
                                  refused[i].number, 0);
    if (result == 0)
        result = refuse_some(filter);
    return result == 0 ? allow_some(filter) : result;
}
