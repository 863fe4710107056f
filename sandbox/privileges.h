/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SANDBOX_PRIVILEGES_H
#define GASPIPE_SANDBOX_PRIVILEGES_H

#include "base/error.h"

/*
 * Resource limits of this process, and of what it executes: no core file, few descriptors, no
 * locked memory, no message queues, files (a snapshot is one) of at most 4 GiB, and 16 GiB of
 * addresses: whatever way memory is taken, it needs them. A lower hard limit that is there already
 * stays. 0, or -1 with ERROR_SYSTEM.
 */
int sandbox_limit_resources(struct error *error);

/*
 * Namespaces of its own, as far as Linux gives them without privilege: user, network, IPC.
 * There is no process namespace (docs/security.md says why); sandbox_enter_root() makes the mount
 * namespace. User and group keep their numbers. The calling process may have one thread only. Sets
 * in *had which of enum sandbox_namespace it has now.
 */
enum sandbox_namespace {
    SANDBOX_NAMESPACE_USER = 1,
    SANDBOX_NAMESPACE_NETWORK = 2,
    SANDBOX_NAMESPACE_IPC = 4,
    SANDBOX_NAMESPACES_ALL = 7,
};
void sandbox_enter_namespaces(unsigned *had);

/*
 * No privilege, now or by executing another program: all capabilities dropped, no_new_privs
 * set, killed with the parent, not to be attached to by others of the same user.
 * 0, or -1 with ERROR_SYSTEM.
 */
int sandbox_drop_privileges(struct error *error);

#endif
