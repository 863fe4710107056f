/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_WORKER_REGION_H
#define GASPIPE_WORKER_REGION_H

#include <stdbool.h>
#include <sys/resource.h>

#include "proto/meter.h"

/*
 * The part of a delivery that is counted: from after its last byte was read to
 * before its result is written, without the writing and reading of requests.
 */
struct region {
    bool counter;         /* an instruction counter that we can talk to is there */
    struct rusage before; /* at the start */
};

/* Looks for the counter once. */
void region_open(struct region *region);

void region_start(struct region *region);
void region_pause(const struct region *region);
void region_resume(const struct region *region);

/* Ends the region and puts what it came to into the meter. */
void region_stop(const struct region *region, struct meter *meter);

#endif
