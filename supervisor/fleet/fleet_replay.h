/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_FLEET_FLEET_REPLAY_H
#define GASPIPE_SUPERVISOR_FLEET_FLEET_REPLAY_H

#include "supervisor/fleet/fleet_job.h"
#include "supervisor/fleet/fleet_options.h"

enum fleet_outcome {
    FLEET_REPLAYED, /* `output` are the lines of gaspipe replay --part */
    FLEET_FAILED,   /* `words` say why */
    FLEET_LOST,     /* the job is no longer ours */
};

struct fleet_replay {
    const struct fleet_options *options;
    struct fleet_transport *transport;
    const char *folder; /* for what the replay reads, empty before and after */
};

/*
 * Replays the span of a job in a process of its own, while it extends the lease. The outcome; -1
 * with ERROR_SYSTEM: something is wrong with this machine, not with the job.
 */
int fleet_replay(const struct fleet_replay *replay, struct fleet_lease *lease,
                 const struct fleet_job *job, struct buf *output, struct error *words,
                 struct error *error);

#endif
