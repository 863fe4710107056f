/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/filter_program.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

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
