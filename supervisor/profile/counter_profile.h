/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_PROFILE_COUNTER_PROFILE_H
#define GASPIPE_SUPERVISOR_PROFILE_COUNTER_PROFILE_H

#include "base/profile/profile.h"

/*
 * Reads a program's profile that the counter has written (counter/qemu/code/profile.h):
 * instructions by function and caller, summed up. 0, or -1 with ERROR_INPUT (not such a file) or
 * ERROR_SYSTEM. To be closed in any case.
 */
int counter_profile_read(struct profile *profile, const char *path, struct error *error);

#endif
