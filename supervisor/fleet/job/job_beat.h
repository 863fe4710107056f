/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_FLEET_JOB_JOB_BEAT_H
#define GASPIPE_SUPERVISOR_FLEET_JOB_JOB_BEAT_H

#include "supervisor/fleet/job/job_kind.h"

/* Extends a job's lease while something takes long before its process runs. */
struct job_beat {
    const struct job_place *place;
    int64_t last; /* when it did, nanoseconds of CLOCK_MONOTONIC; 0: not yet */
};

/* To be called often, with a struct job_beat; does something four times in a lease. That the job is
 * another worker's now shows when its process runs. -1 with ERROR_SYSTEM. */
int job_beat(void *context, struct error *error);

#endif
