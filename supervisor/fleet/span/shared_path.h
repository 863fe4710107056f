/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_FLEET_SPAN_SHARED_PATH_H
#define GASPIPE_SUPERVISOR_FLEET_SPAN_SHARED_PATH_H

#include <jansson.h>
#include <limits.h>
#include <stdbool.h>

#include "base/error.h"

/* Files and folders below a folder that all workers reach, each by its own path (--shared DIR). */

/* Where it is below the folder, as a JSON string. NULL with ERROR_INPUT (not there, not below it,
 * not UTF-8) or ERROR_SYSTEM. */
json_t *shared_path_below(const char *folder, const char *path, struct error *error);

/* Whether a job may name it: no "..", and not from the root. */
bool shared_path_is(const json_t *value);

/* The path on this machine. -1 with ERROR_SYSTEM where the folder is not given (NULL) or not there:
 * whatever is wrong with it is wrong with this machine, and not with the job; with ERROR_INPUT
 * where the path is too long. */
int shared_path_find(const char *folder, const char *below, char path[PATH_MAX],
                     struct error *error);

#endif
