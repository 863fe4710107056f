/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_FLEET_JOB_JOB_READ_H
#define GASPIPE_SUPERVISOR_FLEET_JOB_JOB_READ_H

#include "supervisor/fleet/job/fleet_job.h"

/*
 * Reads a job that others have written: nothing of it is used before it is checked. `name` is how
 * messages call it. -1 with ERROR_INPUT: it is no job, one of another version, or not the one
 * that has this ID; NULL: any will do. fleet_job_free() in any case.
 */
int job_read(struct fleet_job *job, const char *name, const char *text, size_t length,
             const char *id, struct error *error);

#endif
