/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_NODE_ADDON_PLACEMENT_H
#define GASPIPE_NODE_ADDON_PLACEMENT_H

#include <sched.h>
#include <stdint.h>

/*
 * Where a worker runs while this thread waits for it: on this thread's processor, since one
 * processor that wakes another takes many times a switch on one. A processor that has other work
 * too keeps both waiting for it, each time they switch: where the system says that a worker has
 * waited so, the workers of this thread run wherever the system puts them for a while, and
 * longer each time it is so again.
 */
struct placement {
    int worker;         /* -1: there is none, or it cannot be moved */
    int processor;      /* it is placed there; -1: it is not placed */
    int statistics;     /* the descriptor of the worker's /proc/PID/schedstat; -1: there is none */
    cpu_set_t anywhere; /* where it ran before it was placed */
    int64_t looked;     /* when the statistics were last read, nanoseconds of CLOCK_MONOTONIC */
    uint64_t ran, waited; /* nanoseconds by then: on a processor, and for one */
};

/* Of no worker. */
void placement_init(struct placement *placement);

/* A worker that has just been started. */
void placement_follow(struct placement *placement, int worker);

/* It will be awaited: here, unless processors are contended for. */
void placement_here(struct placement *placement);

/* It is at work for longer: not in this thread's way. */
void placement_anywhere(struct placement *placement);

void placement_free(struct placement *placement);

#endif
