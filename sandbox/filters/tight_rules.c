/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

#include "sandbox/filter_program.h"
#include "sandbox/filters/rules.h"

static const int allowed[] = {
    /* how a thread that was made shortly before begins */
    SCMP_SYS(set_robust_list),
    SCMP_SYS(rseq),
    /* what there is to do */
    SCMP_SYS(read),
    SCMP_SYS(write),
    SCMP_SYS(vmsplice), /* as write(2), without a copy */
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
    SCMP_SYS(rt_sigaction),
    SCMP_SYS(sigaltstack),
    SCMP_SYS(exit),
    SCMP_SYS(exit_group),
    SCMP_SYS(restart_syscall),
};

/* What the C library does without. */
static const struct {
    int number;
    int errnum;
} refused[] = {
    {SCMP_SYS(open), EACCES},      {SCMP_SYS(openat), EACCES},  {SCMP_SYS(access), EACCES},
    {SCMP_SYS(faccessat), EACCES}, {SCMP_SYS(stat), EACCES},    {SCMP_SYS(lstat), EACCES},
    {SCMP_SYS(readlink), EACCES},  {SCMP_SYS(statx), EACCES},   {SCMP_SYS(ioctl), ENOTTY},
    {SCMP_SYS(clone3), ENOSYS},    {SCMP_SYS(openat2), EACCES}, {SCMP_SYS(faccessat2), EACCES},
};

/* Only where the arguments compare so. */
static int allow_some(scmp_filter_ctx filter)
{
    const struct {
        int number;
        unsigned count;
        struct scmp_arg_cmp arguments[2];
    } some[] = {
        /* The limit on a worker's memory does not count what is shared. */
        {SCMP_SYS(mmap),
         2,
         {SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0), SCMP_A3(SCMP_CMP_MASKED_EQ, MAP_SHARED, 0)}},
        {SCMP_SYS(mprotect), 1, {SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0)}},
        {SCMP_SYS(fcntl), 1, {SCMP_A1(SCMP_CMP_LE, F_SETFL, 0)}},
        {SCMP_SYS(fcntl), 1, {SCMP_A1(SCMP_CMP_EQ, F_GETPIPE_SZ, 0)}},
        {SCMP_SYS(newfstatat), 1, {SCMP_A3(SCMP_CMP_EQ, AT_EMPTY_PATH, 0)}},
        {SCMP_SYS(prlimit64), 1, {SCMP_A2(SCMP_CMP_EQ, 0, 0)}}, /* it only asks */
        /* The counter reads and writes its guest's memory so. */
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

int rules_tight(scmp_filter_ctx filter)
{
    int result = 0;

    for (size_t i = 0; i < sizeof allowed / sizeof *allowed && result == 0; i++)
        result = seccomp_rule_add(filter, SCMP_ACT_ALLOW, allowed[i], 0);
    for (size_t i = 0; i < sizeof refused / sizeof *refused && result == 0; i++)
        result = seccomp_rule_add(filter, SCMP_ACT_ERRNO((uint16_t)refused[i].errnum),
                                  refused[i].number, 0);
    return result == 0 ? allow_some(filter) : result;
}
