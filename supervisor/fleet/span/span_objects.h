/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_FLEET_SPAN_SPAN_OBJECTS_H
#define GASPIPE_SUPERVISOR_FLEET_SPAN_SPAN_OBJECTS_H

#include "supervisor/fleet/transport/transport.h"

/*
 * A transport of objects alone, for a span that is cut out of its source where it is replayed: they
 * become files in a folder of the worker's, object-HASH. With NULL for a folder nothing is kept,
 * and has_object() finds nothing.
 */
struct span_objects {
    struct fleet_transport transport;
    const char *folder; /* borrowed */
};

struct fleet_transport *span_objects_init(struct span_objects *objects, const char *folder);

#endif
