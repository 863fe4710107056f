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
    uint64_t limit;       /* instructions; 0: none */
    struct rusage before; /* what the thread had used when the last region ended */
};

/*
 * Looks for the counter once. A limited region of more than `limit` instructions
 * ends the process with WORKER_EXIT_INSTRUCTIONS; 0: none does. False when there
 * is a limit and no counter.
 */
bool region_open(struct region *region, uint64_t limit);

void region_start(const struct region *region, bool limited);
void region_pause(const struct region *region);
void region_resume(const struct region *region);

/*
 * Ends the region and puts what it came to into the meter. Its `cpu` is from the end of
 * the region before, or from region_rebase(), so that the system is asked once for each:
 * the delivery's own coming, and one sleep until it came, are in it.
 */
void region_stop(struct region *region, struct meter *meter);

/* The next region's `cpu` begins here: what was done since the last belongs to neither. */
void region_rebase(struct region *region);

#endif
