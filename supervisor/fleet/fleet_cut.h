/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_FLEET_FLEET_CUT_H
#define GASPIPE_SUPERVISOR_FLEET_FLEET_CUT_H

#include "supervisor/fleet/transport.h"
#include "supervisor/replay/replay_options.h"

/*
 * Cuts a source of gaspipe replay into spans. A span begins where a vat's worker was started: from
 * its bundle, or from a snapshot in the source. Without the snapshot, as in a slogfile, the span
 * continues, and its replay makes the snapshot itself.
 */

/* A span for the target. */
struct fleet_cut_span {
    const char *vat_id, *vat;
    int64_t first, end; /* numbers of deliveries */
    int64_t deliveries;
    const char *transcript, *snapshot; /* objects; "": no snapshot */
    const void *bundles;               /* json_t, as of a job */
};

struct fleet_cut_target {
    struct fleet_transport *transport; /* that objects are put into */
    int (*add)(void *context, const struct fleet_cut_span *span, struct error *error);
    void *context;
};

/* -1 with ERROR_INPUT, ERROR_SYSTEM, or ERROR_USAGE: the source has no such vat. */
int fleet_cut(const struct replay_options *options, const struct fleet_cut_target *target,
              struct error *error);

#endif
