/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_FLEET_TRANSPORT_FOLDER_TRANSPORT_H
#define GASPIPE_SUPERVISOR_FLEET_TRANSPORT_FOLDER_TRANSPORT_H

#include "supervisor/fleet/transport/transport.h"

/*
 * A fleet whose machines share a folder, and one machine's own. In it:
 *     fleet.json              {"version":1}
 *     objects/HASH.zst        HASH is of what the file holds, uncompressed
 *     jobs/ID.json            each job
 *     waiting/WEIGHT-ID.F.L   an empty file for each job that waits; F times it failed, L times
 *                             its worker was lost
 *     taken/WEIGHT-ID.F.L.WHO the same of a job that a worker has: the time of its last
 *                             modification is when the lease was extended
 *     results/ID.jsonl
 *     words/ID                why it failed, a line each time
 *     aside/ID, cancelled/ID  empty files
 *     runs/NAME.jsonl         {"id":ID,...} for each job, in order
 *
 * A job is taken by renaming its file, which only one worker succeeds in. Results are written
 * under another name, synced, and linked to their own, which fails when one is there.
 */

/*
 * Opens it; where `make`, also a folder that is new or empty. `lease_ms` is how long a worker may
 * be silent. NULL with ERROR_INPUT: it is no fleet's folder, or ERROR_SYSTEM.
 */
struct fleet_transport *folder_transport_open(const char *path, bool make, uint64_t lease_ms,
                                              struct error *error);

#endif
