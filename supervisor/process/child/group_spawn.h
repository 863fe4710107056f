/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_PROCESS_CHILD_GROUP_SPAWN_H
#define GASPIPE_SUPERVISOR_PROCESS_CHILD_GROUP_SPAWN_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * Starts a process within a control group (version 2). One that is moved there later waits until
 * Linux has seen every processor pass a quiet moment, some ten milliseconds (the write lock of
 * threadgroups, Documentation/admin-guide/cgroup-v2.rst: favordynmods).
 */

/* Everything is borrowed for the call. */
struct group_spawn {
    const char *path;
    char *const *arguments;   /* argv; ends with NULL */
    char *const *environment; /* ends with NULL */
    const int *fds;           /* what becomes its descriptors 0, 1, ...; each >= fd_count, or -1:
                               * closed, /dev/null where that is one of the first three */
    int fd_count;
    const char *folder; /* that it runs in; NULL: the present one */
    bool in_our_group;  /* of processes; else it begins one */
};

/*
 * As posix_spawn(3), with no signal blocked or ignored in the process. False: nothing was started,
 * since Linux cannot do it, or not into that group. Else *problem is 0, or the errno with
 * which the process could not become the program; then it is already reaped.
 */
bool group_spawn(const struct group_spawn *spawn, const char *group, pid_t *pid, int *problem);

#endif
