/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/tight_filter.h"

#include <errno.h>
#include <sys/prctl.h>

#include "sandbox/filter_program.h"
#include "sandbox/sanitized.h"

#ifdef __x86_64__
static const struct sock_filter program[] = {
#include <tight_filter.inc> /* compiled from sandbox/filters/tight_rules.c */
};

static int tight_filter_enter(bool whole_process)
{
    return filter_program_enter(program, sizeof program / sizeof *program, whole_process);
}
#else
/* The metered worker of another machine, which runs in tests only. */
static int tight_filter_enter(bool whole_process)
{
    (void)whole_process;
    return ENOSYS;
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
