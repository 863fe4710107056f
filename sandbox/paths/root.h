/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SANDBOX_PATHS_ROOT_H
#define GASPIPE_SANDBOX_PATHS_ROOT_H

#include "base/error.h"

/*
 * A mount namespace of its own, whose root has only what the process may read and execute: the
 * places of sandbox/paths/places.h and `programs`, a list of absolute paths that ends with NULL.
 * Everything is read-only, and where it was; the working folder is the root. Any other path does
 * not exist. Needs a user namespace of its own, or CAP_SYS_ADMIN. 0, or -1 with ERROR_SYSTEM: the
 * process sees what it saw before.
 */
int sandbox_enter_root(const char *const *programs, struct error *error);

#endif
