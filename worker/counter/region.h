/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_WORKER_COUNTER_REGION_H
#define GASPIPE_WORKER_COUNTER_REGION_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/meter.h"

/*
 * The part of a delivery that is counted: from after its last byte was read to
 * before its result is written, without the writing and reading of requests.
 */
struct region {
    bool counter;   /* an instruction counter that we can talk to is there */
    uint64_t limit; /* instructions; 0: none */
    /* Of the compiled-in meter, in a worker that has it. */
    uint64_t cost_limit; /* units; 0: none */
    bool cost_limited;   /* the region that is open is held to it */
    uint64_t cost;       /* of the region, up to its last pause */
    uint64_t cost_begun; /* the meter's number when it began, or went on */
    bool paused;
};

/* Whether work is counted here, by a counter or by a meter that is compiled in. */
bool region_counts(void);

/*
 * Looks for the counter once. A limited region of more than `limit` instructions
 * ends the process with WORKER_EXIT_INSTRUCTIONS; 0: none does. False when there
 * is a limit and no counter.
 */
bool region_open(struct region *region, uint64_t limit);

/*
 * A limited region of more than `units` of block cost stops the engine (worker/cost_limit.h), 0:
 * none does. False when there is a limit and no meter is compiled in.
 */
bool region_limit_cost(struct region *region, uint64_t units);

void region_start(struct region *region, bool limited);
void region_pause(struct region *region);
void region_resume(struct region *region);

/* Ends the region, which may be paused, and puts what was counted into the meter. */
void region_stop(struct region *region, struct meter *meter);

/* Of the region that was stopped last: whether it used more block cost than it may. */
bool region_passed_cost(const struct region *region, const struct meter *meter);

#endif
