/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SANDBOX_CONTROL_GROUP_H
#define GASPIPE_SANDBOX_CONTROL_GROUP_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/*
 * Control groups (version 2), one for each worker: all its processes end with it and, if the
 * controllers are available, memory and processes are limited. The groups are in a directory
 * gaspipe-PID in this process's group, if that is delegated to it. A group that delegates
 * controllers must not have processes itself: if this process is alone in its group, it moves into
 * a new one below, until control_groups_close().
 */
struct control_groups {
    char directory[PATH_MAX]; /* "" if none can be created */
    int lock;                 /* lock on the directory while its owner runs */
    bool limit_memory, limit_processes;
    bool moved; /* this process moved into a group below */
};

/* Removes groups of killed processes. What is not available is left out. */
void control_groups_open(struct control_groups *groups);

/* All zeros are allowed. */
void control_groups_close(struct control_groups *groups);

/*
 * Creates a group for a worker with at most `memory` bytes (0: no limit). *path is "" if groups
 * are not available. -1 with ERROR_SYSTEM. End it with control_group_end().
 */
int control_group_make(const struct control_groups *groups, uint64_t memory, char path[PATH_MAX],
                       struct error *error);

/* Kills the group's processes and removes it; "" is allowed. */
void control_group_end(const char *path);

/*
 * Moves this process into the group unless it was started there: moving takes Linux some ten
 * milliseconds. -1 with ERROR_SYSTEM.
 */
int control_group_enter(const char *path, struct error *error);

/*
 * Finds the directory of this process's control group (version 2) from /proc/self/cgroup and
 * /proc/self/mountinfo. False if none is visible.
 */
bool current_cgroup_parse(const char *groups, const char *mounts, char directory[PATH_MAX]);

#endif
