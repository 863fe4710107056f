/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_PROFILE_SCRIPT_PROFILE_H
#define GASPIPE_SUPERVISOR_PROFILE_SCRIPT_PROFILE_H

#include <stdint.h>
#include <sys/uio.h>

#include "base/profile/profile.h"

/*
 * Reads the member `profile` of a meter record: what a delivery cost by JavaScript function, summed
 * up. With `instructions` of the whole delivery, those that no node has are the engine's; -1: none
 * were counted, and the profile is of computrons alone. 0, or -1 with ERROR_INPUT for what is no
 * profile, or ERROR_SYSTEM without memory. To be closed in any case.
 */
int script_profile_read(struct profile *profile, struct iovec json, int64_t instructions,
                        struct error *error);

#endif
