/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SANDBOX_CONTROL_GROUP_H
#define GASPIPE_SANDBOX_CONTROL_GROUP_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/*
 * Control groups (version 2), one for each worker: nothing outlives a group, and where the
 * controllers are to be had it limits memory and processes. They stand in a directory gaspipe-PID
 * in the group that this process is in, if it may make directories there: the group is delegated to
 * it.
 *
 * A group whose controllers are passed on may not have processes itself. So where this process is
 * alone in its group, it moves into one of its own below, until control_groups_close().
 */
struct control_groups {
    char directory[PATH_MAX]; /* "": none can be made */
    int lock;                 /* on the directory: its owner lives */
    bool limit_memory, limit_processes;
    bool moved; /* this process, into a group below */
};

/* Removes what others left behind that were killed. What cannot be had is left out. */
void control_groups_open(struct control_groups *groups);

/* All zeros are allowed. */
void control_groups_close(struct control_groups *groups);

/*
 * Makes a group for a worker that may have `memory` bytes (0: no limit); *path: "" where there are
 * none. -1 with ERROR_SYSTEM. It ends with control_group_end().
 */
int control_group_make(const struct control_groups *groups, uint64_t memory, char path[PATH_MAX],
                       struct error *error);

/* Kills whatever is in the group and removes it; "" is allowed. */
void control_group_end(const char *path);

/* This process goes into the group, unless it was started there: moving takes Linux some ten
 * milliseconds. -1 with ERROR_SYSTEM. */
int control_group_enter(const char *path, struct error *error);

/*
 * The directory of the control group (version 2) that this process is in, from the texts of
 * /proc/self/cgroup and /proc/self/mountinfo. False: it cannot see one.
 */
bool current_cgroup_parse(const char *groups, const char *mounts, char directory[PATH_MAX]);

#endif
