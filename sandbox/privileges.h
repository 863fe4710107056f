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

/*
 * Which files the process can reach from now on, with Landlock: the system's libraries, its own
 * directory in /proc, /dev/null, and the files that are named; nothing is made, removed or renamed.
 * TCP is refused from ABI 4 on, signals and abstract sockets outside of the sandbox from ABI 6 on.
 *
 * `programs` may be read and executed; the list ends with NULL. no_new_privs must be set.
 * Returns the ABI that was used, 0 when Linux has no Landlock, -1 with ERROR_SYSTEM.
 */
int sandbox_restrict_paths(const char *const *programs, struct error *error);

/*
 * A mount namespace of its own, whose root has only what the process may read and execute: the
 * places of sandbox/privileges.c and `programs`, a list of absolute paths that ends with NULL.
 * Everything is read-only, and where it was; the working directory is the root. Any other path does
 * not exist. Needs a user namespace of its own, or CAP_SYS_ADMIN. 0, or -1 with ERROR_SYSTEM: the
 * process sees what it saw before.
 */
int sandbox_enter_root(const char *const *programs, struct error *error);

#endif
