/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_FLEET_JOB_JOB_PROCESS_H
#define GASPIPE_SUPERVISOR_FLEET_JOB_JOB_PROCESS_H

#include "supervisor/fleet/job/job_kind.h"

enum job_outcome {
    JOB_DONE,   /* `output` is the result */
    JOB_FAILED, /* `words` say why */
    JOB_LOST,   /* the job is no longer ours */
};

/*
 * Does a job in a process of its own, while it extends the lease. The outcome; -1 with
 * ERROR_SYSTEM: something is wrong with this machine, not with the job.
 */
int job_process_run(const struct job_place *place, struct fleet_lease *lease,
                    const struct fleet_job *job, struct buf *output, struct error *words,
                    struct error *error);

#endif
