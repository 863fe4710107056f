/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_FLEET_FLEET_RUN_H
#define GASPIPE_SUPERVISOR_FLEET_FLEET_RUN_H

#include "supervisor/fleet/fleet_job.h"

/* A run: the jobs of one submission, in the order of vats and deliveries, or of what was given. */

enum { FLEET_RUN_NAME_SIZE = 65 };

struct fleet_run_job {
    char id[FLEET_HASH_SIZE];
    char *name;         /* the vat's ID, or the job's name; owned */
    int64_t first, end; /* deliveries; of other kinds than replays, the place in the run */
    int64_t amount;     /* of work, in the units of its kind */
};

struct fleet_run {
    const struct job_kind *kind; /* of all its jobs; NULL: it has none */
    char name[FLEET_RUN_NAME_SIZE];
    struct fleet_run_job *jobs; /* owned */
    size_t count, capacity;
};

/* Letters, digits, '-' and '_'. -1 with ERROR_USAGE: it is no name of a run. */
int fleet_run_check_name(const char *name, struct error *error);

/* Copies the job. -1 with ERROR_SYSTEM; with ERROR_INPUT, it is of another kind than the others. */
int fleet_run_add(struct fleet_run *run, const struct job_kind *kind,
                  const struct fleet_run_job *job, struct error *error);

/* Puts the jobs in order and keeps the run, under the name, or one that follows from its jobs
 * where it is NULL. */
int fleet_run_put(struct fleet_run *run, const char *name, struct fleet_transport *transport,
                  struct error *error);

/*
 * Reads a run into one that is all zeros: that of this name; NULL: the only one. -1 with
 * ERROR_USAGE: there is none, or several. fleet_run_free() in any case.
 */
int fleet_run_get(struct fleet_run *run, const char *name, struct fleet_transport *transport,
                  struct error *error);

void fleet_run_free(struct fleet_run *run);

#endif
