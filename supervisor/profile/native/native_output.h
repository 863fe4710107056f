/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_PROFILE_NATIVE_NATIVE_OUTPUT_H
#define GASPIPE_SUPERVISOR_PROFILE_NATIVE_NATIVE_OUTPUT_H

#include "base/error.h"
#include "supervisor/count/profile/count_profile.h"
#include "supervisor/profile/profile_file.h"

/*
 * Appends a delivery's profile by native function, in instructions or block cost as its unit says,
 * in the file's format (docs/profile-format.md). Its places are sorted. -1 without memory.
 */
int native_output_put(struct profile_file *file, const struct count_profile *profile,
                      const struct profiled_delivery *delivery, struct error *error);

#endif
