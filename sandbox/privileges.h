/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SANDBOX_PRIVILEGES_H
#define GASPIPE_SANDBOX_PRIVILEGES_H

#include "base/error.h"

/* The steps of a sandbox, to be taken in this order: limits, namespaces, root, privileges, paths.
 * Each later step takes away what an earlier one needs. */

/* Sets resource limits of this process and of programs that it executes. They get no core file, few
 * descriptors, no locked memory, no message queues, files of at most 4 GiB (a snapshot is one), and
 * 16 GiB of address space, which every allocation needs. A lower hard limit stays. Returns 0, or -1
 * with ERROR_SYSTEM. */
int sandbox_limit_resources(struct error *error);

/*
 * Enters new namespaces as far as Linux allows without privilege: user, network, IPC. There is no
 * process namespace (docs/security.md says why); sandbox_enter_root() creates the mount namespace.
 * User and group keep their numbers. The process must have one thread only. Sets in *had which of
 * enum sandbox_namespace it now has.
 */
enum sandbox_namespace {
    SANDBOX_NAMESPACE_USER = 1,
    SANDBOX_NAMESPACE_NETWORK = 2,
    SANDBOX_NAMESPACE_IPC = 4,
    SANDBOX_NAMESPACES_ALL = 7,
};

void sandbox_enter_namespaces(unsigned *had);

/*
 * Enters a new mount namespace whose root has only what the process may read and execute: the
 * paths in sandbox/privileges.c and `programs`, absolute and ended by NULL. Everything is read-
 * only and at its old path; the working directory is the root. Requires its own user namespace or
 * CAP_SYS_ADMIN. 0, or -1 with ERROR_SYSTEM: nothing has changed.
 */
int sandbox_enter_root(const char *const *programs, struct error *error);

/* Drops all privileges permanently: no capabilities, no_new_privs, killed with the parent, not
 * traceable by other processes of the user. Returns 0, or -1 with ERROR_SYSTEM. */
int sandbox_drop_privileges(struct error *error);

/*
 * Limits the files that the process can access, with Landlock: the system's libraries, its own
 * directory in /proc, /dev/null, and the given files; nothing can be created, removed or renamed.
 * Refuses TCP from ABI 4, signals and abstract sockets outside of the sandbox from ABI 6.
 * `programs`, ended by NULL, may be read and executed. Requires no_new_privs. Returns the ABI that
 * was used, 0 without Landlock, -1 with ERROR_SYSTEM.
 */
int sandbox_restrict_paths(const char *const *programs, struct error *error);

#endif
