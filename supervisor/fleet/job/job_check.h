/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_FLEET_JOB_JOB_CHECK_H
#define GASPIPE_SUPERVISOR_FLEET_JOB_JOB_CHECK_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* Whether parts of a job that others have written are what they should be. */

/* A SHA-256: it becomes part of a path. */
bool job_check_hash(const json_t *value);

/* "v12" */
bool job_check_vat_id(const json_t *value);

/* "" */
bool job_check_none(const json_t *value);

/* An array of {"name","object"}: names of files in one folder, and what is in them; with "shared",
 * which is a path below a folder that the worker was given, that is not among the objects but
 * there. */
bool job_check_files(const json_t *files);

/* An array of strings, each of which begins with one of the `count` in `allowed`: whoever may add
 * jobs may not choose programs or files of the worker's machine. */
bool job_check_arguments(const json_t *arguments, const char *const *allowed, size_t count);

#endif
