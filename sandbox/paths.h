/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SANDBOX_PATHS_H
#define GASPIPE_SANDBOX_PATHS_H

#include "base/error.h"

/*
 * Which files the process can reach from now on, with Landlock: the system's libraries, its own
 * folder in /proc, /dev/null, and the files that are named; nothing is made, removed or renamed.
 * TCP is refused from ABI 4 on, signals and abstract sockets outside of the sandbox from ABI 6 on.
 *
 * `programs` may be read and executed; the list ends with NULL. no_new_privs must be set.
 * Returns the ABI that was used, 0 when Linux has no Landlock, -1 with ERROR_SYSTEM.
 */
int sandbox_restrict_paths(const char *const *programs, struct error *error);

/*
 * A mount namespace of its own, whose root has only what the process may read and execute: the
 * places of sandbox/paths.c and `programs`, a list of absolute paths that ends with NULL.
 * Everything is read-only, and where it was; the working folder is the root. Any other path does
 * not exist. Needs a user namespace of its own, or CAP_SYS_ADMIN. 0, or -1 with ERROR_SYSTEM: the
 * process sees what it saw before.
 */
int sandbox_enter_root(const char *const *programs, struct error *error);

#endif
