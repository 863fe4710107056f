/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_WORKER_REGION_H
#define GASPIPE_WORKER_REGION_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/meter.h"

/*
 * The counted part of a delivery. It must not contain the pipe's work, whose instructions depend on
 * how the bytes arrive:
 *
 *     read the frame | start == engine == pause | write a request,  | resume == engine == stop |
 * write |                          | read its answer   |                          | result
 *
 * Both counters see the region: QEMU's by marks (counter/gasmark.h), the compiled-in meter by its
 * own number, which is read inside the marks. So each costs the same with and without the other.
 */
struct region {
    bool counter;   /* an instruction counter is there */
    uint64_t limit; /* instructions; 0: none */
    /* For the compiled-in meter, in a worker that has it. */
    uint64_t cost_limit; /* units; 0: none */
    bool cost_limited;   /* the open region is held to it */
    uint64_t cost;       /* of the region, up to its last pause */
    uint64_t cost_begun; /* the meter's number when the region began or was resumed */
    bool paused;
};

/*
 * Looks for the counter once. A limited region of more than `limit` instructions ends the process
 * with WORKER_EXIT_INSTRUCTIONS; 0: none does. False: there is a limit and no counter.
 */
bool region_open(struct region *region, uint64_t limit);

/*
 * A limited region of more than `units` of block cost stops the engine; 0: none does. False: there
 * is a limit and no compiled-in meter.
 */
bool region_limit_cost(struct region *region, uint64_t units);

void region_start(struct region *region, bool limited);
void region_pause(struct region *region);
void region_resume(struct region *region);

/* Ends the region, which may be paused, and adds its counts to the meter. */
void region_stop(struct region *region, struct meter *meter);

/* Returns true if the region that was stopped last used more block cost than it may. */
bool region_passed_cost(const struct region *region, const struct meter *meter);

/*
 * Past the limit of block cost the engine is to stop at its next check. Code of the engine that
 * never checks, such as a long builtin function, may use COST_LIMIT_GRACE units more; then the
 * process ends with WORKER_EXIT_COST. Both places are the same on every machine.
 */
enum { COST_LIMIT_GRACE = 1 << 26 };

/* Returns true if the present region has passed the limit. Constant without the meter, so that the
 * ordinary worker has no instructions for it. */
#ifdef __GASPIPE_METER__
bool region_is_over_cost(void);
#else
static inline bool region_is_over_cost(void)
{
    return false;
}
#endif

#endif
