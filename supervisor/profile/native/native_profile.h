/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_PROFILE_NATIVE_NATIVE_PROFILE_H
#define GASPIPE_SUPERVISOR_PROFILE_NATIVE_NATIVE_PROFILE_H

#include "base/error.h"
#include "supervisor/count/profile/count_profile.h"
#include "supervisor/profile/native/native_functions.h"
#include "supervisor/profile/native/region_stream.h"

/*
 * A region of a worker as a profile: functions, and stacks of them. The calls of a stack are how
 * often its function's first instruction was executed. 0, or -1 with ERROR_SYSTEM; the profile is
 * to be freed with count_profile_free() if it is 0, and borrows from `functions`.
 */
int native_profile_make(struct count_profile *profile, struct region_stream *stream,
                        const struct region *region, struct native_functions *functions,
                        struct error *error);

#endif
