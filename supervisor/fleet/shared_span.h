/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_FLEET_SHARED_SPAN_H
#define GASPIPE_SUPERVISOR_FLEET_SHARED_SPAN_H

#include <jansson.h>

#include "supervisor/fleet/transport.h"
#include "supervisor/replay/replay_options.h"

/*
 * A span whose source stays in a directory that all workers reach. The job names the source, all
 * paths below that directory,
 *     {"paths":["agoric"] or "store":"run","fromStart":false,
 *      "bundles":[{"vat":"v1" or "","path":"b.json"}],"snapshots":"snapshots"}
 * the vat and its deliveries, which are the span's place in it, and the hash of its transcript. A
 * worker cuts the span out of the source again, and believes it if the hash is the same.
 */

/* A job's member "source". NULL with ERROR_INPUT (not in the directory) or ERROR_SYSTEM. */
json_t *shared_span_name(const struct replay_options *options, const char *directory,
                         struct error *error);

bool shared_span_is(const json_t *source);

struct shared_span {
    const json_t *source;
    const char *directory; /* of this machine's, as of shared_path_find() */
    const char *vat_id;
    int64_t first, end; /* numbers of deliveries */
    const char *transcript;
    struct fleet_transport *objects; /* that what it consists of is put into */
};

/* -1 with ERROR_INPUT: the source is missing, damaged, or changed since submission; or
 * ERROR_SYSTEM. */
int shared_span_cut(const struct shared_span *span, struct error *error);

#endif
