/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_WORKER_EXIT_H
#define GASPIPE_SUPERVISOR_WORKER_EXIT_H

/* Why a delivery failed, where the contract itself does not say: one wording,
 * because it is recorded in results, and replay compares those. */

/* A worker's exit that tells of its vat, in SwingSet's words where it has some;
 * NULL for exits that tell of the host. */
const char *worker_exit_reason(int exit_status);

/* A delivery that ended without a result. */
extern const char worker_unsettled[];

#endif
