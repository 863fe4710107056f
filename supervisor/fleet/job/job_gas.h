/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_FLEET_JOB_JOB_GAS_H
#define GASPIPE_SUPERVISOR_FLEET_JOB_JOB_GAS_H

#include "gas/gas_model.h"
#include "supervisor/fleet/job/job_kind.h"

/* The gas model that a job's results are priced by: its member "gas", an object of weights, which
 * becomes a file for the option --gas of its program. Jobs may have none. */

/* Only weights that are not 0, so that models of the same meaning make the same jobs. -1 when
 * memory ran out. */
int job_gas_set(json_t *members, const struct gas_model *model);

/* Whether it is a gas model, or there is none. */
bool job_gas_is(const json_t *job);

/* Writes the file into the job's folder. -1 with ERROR_SYSTEM. */
int job_gas_fetch(const struct job_place *place, const struct fleet_job *job, struct error *error);

/* Appends the option, if the job has a gas model. */
void job_gas_add_argument(const struct fleet_job *job, struct command_line *line);

#endif
