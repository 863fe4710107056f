/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_FLEET_JOB_FILE_JOBS_H
#define GASPIPE_SUPERVISOR_FLEET_JOB_FILE_JOBS_H

#include "supervisor/fleet/job/job_kind.h"

/* What kinds have in common whose jobs run a program over files: functions of struct job_kind. */

/* Whether it has a name, files, and an array of arguments, which the kind has to look at. */
bool file_jobs_are(const json_t *json);

void file_jobs_describe(const struct fleet_job *job, struct buf *out);

int file_jobs_fetch(const struct job_place *place, const struct fleet_job *job,
                    struct error *error);

/* Appends the job's arguments. */
void file_jobs_add_arguments(const struct fleet_job *job, struct command_line *line);

/* Unless the program exited with 0: -1 with ERROR_INPUT and the last line of its words. */
int file_jobs_check_end(const struct job_end *end, struct error *error);

#endif
