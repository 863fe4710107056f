/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SANDBOX_OWN_GROUP_H
#define GASPIPE_SANDBOX_OWN_GROUP_H

#include <limits.h>
#include <stdbool.h>

/* The folder of the control group (version 2) that this process is in. False: none can be seen. */
bool own_group_find(char folder[PATH_MAX]);

/* The same from the texts of /proc/self/cgroup and /proc/self/mountinfo. */
bool own_group_parse(const char *groups, const char *mounts, char folder[PATH_MAX]);

#endif
