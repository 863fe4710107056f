/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
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

enum namespaces { NAMESPACES_NONE, NAMESPACES_WITHOUT_MOUNTS, NAMESPACES_ALL };

/* Tries in the child all calls that change mounts. */
static enum namespaces try_mounts(void)
{
    struct mount_attr attributes = {.attr_set = MOUNT_ATTR_RDONLY};

    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 || fsopen("tmpfs", 0) < 0)
        return NAMESPACES_WITHOUT_MOUNTS;
    if (mount_setattr(-1, "", AT_EMPTY_PATH, &attributes, sizeof attributes) == 0 || errno != EBADF)
        return NAMESPACES_WITHOUT_MOUNTS;
    return NAMESPACES_ALL;
}

/*
 * Only trying shows it: a container's filter may refuse them. The child has no exit signal, so a
 * parent that ignores SIGCHLD can wait for it, too.
 */
static enum namespaces probe_namespaces(void)
{
    const long child = syscall(SYS_clone, CLONE_NEWUSER | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWNS,
                               NULL, NULL, NULL, NULL);
    int status = 0;

    if (child == 0)
        _exit(try_mounts());
    if (child < 0)
        return NAMESPACES_NONE;
    while (waitpid((pid_t)child, &status, __WALL) < 0 && errno == EINTR)
        ;
    return WIFEXITED(status) ? WEXITSTATUS(status) : NAMESPACES_NONE;
}

void sandbox_probe(char missing[SANDBOX_MISSING_SIZE])
{
    enum namespaces namespaces;

    missing[0] = '\0';
    if (!has_landlock())
        sandbox_note_missing(missing, "Landlock");
    if (!has_filters())
        sandbox_note_missing(missing, "system call filters");
    namespaces = probe_namespaces();
    if (namespaces != NAMESPACES_ALL)
        sandbox_note_missing(missing,
                             namespaces == NAMESPACES_NONE ? "namespaces" : "mount namespaces");
}
