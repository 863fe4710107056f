/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_WORKER_EXIT_H
#define GASPIPE_SUPERVISOR_WORKER_EXIT_H

#include <stdbool.h>

/* Why a delivery failed, where the contract itself does not say: one wording,
 * because it is recorded in results, and replay compares those. */

/* A worker's exit that tells of its vat, in SwingSet's words where it has some;
 * NULL for exits that tell of the host. */
const char *worker_exit_reason(int exit_status);

/* The limit that such words tell of, by its option. */
struct worker_limit {
    const char *option; /* NULL: they tell of none that can be set */
    const char *unit;   /* "computrons" or "instructions" */
    bool computrons;    /* else machine instructions */
};
struct worker_limit worker_exit_limit(const char *reason);

/* A delivery that ended without a result. */
extern const char worker_unsettled[];

#endif
