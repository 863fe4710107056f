/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SANDBOX_LIMITS_H
#define GASPIPE_SANDBOX_LIMITS_H

#include "base/error.h"

/*
 * Resource limits of this process, and of what it executes: no core file, few descriptors, no
 * locked memory, no message queues, files (a snapshot is one) of at most 4 GiB, and 16 GiB of
 * addresses: whatever way memory is taken, it needs them. A lower hard limit that is there already
 * stays. 0, or -1 with ERROR_SYSTEM.
 */
int sandbox_limit_resources(struct error *error);

#endif
