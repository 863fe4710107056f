/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_FLEET_TRANSPORT_NATS_TRANSPORT_H
#define GASPIPE_SUPERVISOR_FLEET_TRANSPORT_NATS_TRANSPORT_H

#include "supervisor/fleet/transport/transport.h"
#include "supervisor/nats/nats_link.h"

/*
 * A fleet whose machines exchange all over NATS JetStream, in four streams of one message a
 * subject:
 *     GASPIPE_OBJECTS   gaspipe.object.HASH.N, pieces of the object; .whole, their number: last
 *     GASPIPE_JOBS      gaspipe.job.ID, a work queue; the durable consumer "workers" takes jobs
 *     GASPIPE_RECORDS   gaspipe.record.job.ID, .result.ID, .run.NAME: written once
 *     GASPIPE_NOTES     gaspipe.note.state.ID ("aside", "cancelled" or "none"), .words.ID,
 *                       .refused.ID (times), .taken.ID (for so many milliseconds from when it
 *                       was set, 0: no more)
 * Streams are made where they are missing, and never deleted. Records longer than a piece are
 * objects, and "@HASH" stands for them.
 */

/* `replicas` of the streams that it makes; 0: it makes none. NULL with ERROR_INPUT or
 * ERROR_SYSTEM. */
struct fleet_transport *nats_transport_open(const struct nats_access *access, int replicas,
                                            uint64_t lease_ms, struct error *error);

#endif
