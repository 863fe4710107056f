/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/probe.h"

#include <errno.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

void sandbox_note_missing(char missing[SANDBOX_MISSING_SIZE], const char *what)
{
    const size_t used = strlen(missing);

    snprintf(missing + used, SANDBOX_MISSING_SIZE - used, "%s%s", used > 0 ? ", " : "", what);
}

static bool has_landlock(void)
{
    return syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION) > 0;
}

static bool has_filters(void)
{
    const uint32_t action = SECCOMP_RET_KILL_PROCESS;

    return syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
}

/* Only trying tells: a container's own filter may refuse them. The child has no exit signal, so
 * whoever ignores SIGCHLD here can wait for it, too. */
static bool has_namespaces(void)
{
    const long child =
        syscall(SYS_clone, CLONE_NEWUSER | CLONE_NEWNET | CLONE_NEWIPC, NULL, NULL, NULL, NULL);

    if (child == 0)
        _exit(0);
    if (child < 0)
        return false;
    while (waitpid((pid_t)child, NULL, __WALL) < 0 && errno == EINTR)
        ;
    return true;
}

void sandbox_probe(char missing[SANDBOX_MISSING_SIZE])
{
    missing[0] = '\0';
    if (!has_landlock())
        sandbox_note_missing(missing, "Landlock");
    if (!has_filters())
        sandbox_note_missing(missing, "system call filters");
    if (!has_namespaces())
        sandbox_note_missing(missing, "namespaces");
}
