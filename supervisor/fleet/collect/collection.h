/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_FLEET_COLLECT_COLLECTION_H
#define GASPIPE_SUPERVISOR_FLEET_COLLECT_COLLECTION_H

#include "supervisor/fleet/fleet_options.h"
#include "supervisor/fleet/fleet_run.h"

/* The results of a run while they are collected. */
struct collection {
    const struct fleet_options *options;
    struct fleet_transport *transport;
    struct fleet_run run;
    size_t missing, aside, cancelled; /* jobs without a result */
};

/* Takes the result of a job: its first line, about the worker, and then what the job's process
 * gave. -1 with the error. */
typedef int collection_take(void *context, const struct buf *result, struct error *error);

/*
 * Hands over each result, in the order of the run, and tells of jobs that have none. -1 with the
 * error; with ERROR_INPUT: there are some, which the user does not want to do without.
 */
int collection_each(struct collection *collection, collection_take *take, void *context,
                    struct error *error);

/* The exit status where the results themselves are good. */
int collection_status(const struct collection *collection);

/* Each prints the results of a run of its kind. The exit status, or -1 with the error. */
int collect_spans(struct collection *collection, struct error *error);
int collect_costs(struct collection *collection, struct error *error);
int collect_slogs(struct collection *collection, struct error *error);

#endif
