/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_FLEET_TRANSPORT_MARKER_H
#define GASPIPE_SUPERVISOR_FLEET_TRANSPORT_MARKER_H

#include <stdbool.h>
#include <stdint.h>

#include "supervisor/fleet/transport/transport.h"

/* The name of a file that stands for a job that waits or is taken: WEIGHT-ID.F.L or
 * WEIGHT-ID.F.L.OWNER. */
enum { MARKER_SIZE = 320, MARKER_OWNER_SIZE = 96 };

struct marker {
    int64_t weight;
    char id[FLEET_HASH_SIZE];
    unsigned failures, losses;     /* so far */
    char owner[MARKER_OWNER_SIZE]; /* "": it waits */
};

/* False: the name is none of a marker. */
bool marker_read(struct marker *marker, const char *name);

/* FOLDER/NAME */
void marker_path(const struct marker *marker, const char *folder, char path[MARKER_SIZE]);

/* For qsort(3): the lightest first. */
int marker_compare(const void *left, const void *right);

#endif
