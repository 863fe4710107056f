/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_PROCESS_LOCATE_H
#define GASPIPE_SUPERVISOR_PROCESS_LOCATE_H

#include <limits.h>

#include "base/error.h"

/*
 * Finds a file that was built or installed with the running program: beside it,
 * or in ../lib/gaspipe from there. 0, or -1 with ERROR_SYSTEM.
 */
int locate(const char *name, char path[PATH_MAX], struct error *error);

/* The same of data: beside the program, or in ../share/gaspipe. */
int locate_data(const char *name, char path[PATH_MAX], struct error *error);

#endif
