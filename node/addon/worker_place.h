/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_NODE_ADDON_WORKER_PLACE_H
#define GASPIPE_NODE_ADDON_WORKER_PLACE_H

#include <sched.h>
#include <stdbool.h>

/*
 * Where a worker runs while this thread waits for it. Either on this thread's processor: one that
 * wakes another costs many times a switch on one. Or on another one, where both poll the pipe
 * (worker_place.c): then neither sleeps, and each finds its caches as it has left them.
 */
struct worker_place {
    int worker;         /* its process; -1: it is not placed, or cannot be */
    cpu_set_t anywhere; /* where it ran before */
    int processor;      /* this thread's when it was placed last; -1: it runs anywhere */
    bool spread;        /* it is to run on another processor, */
    bool apart;         /* and does */
};

/* Nothing is placed. */
void worker_place_init(struct worker_place *place);

/* From now on that process. */
void worker_place_follow(struct worker_place *place, int worker, bool spread);

/* Before it is given something, and waited for. Whether both poll. */
bool worker_place_put(struct worker_place *place);

/* It waits for its processor: has it run on this thread's, which waits and does not poll. */
void worker_place_take_back(struct worker_place *place);

/* It is at work for longer, and in nobody's way: it runs anywhere. */
void worker_place_leave(struct worker_place *place);

/* The page that workers are given as --poll-page (proto/poll_page.h), only to be read; the
 * process's. -1: there is none. */
int worker_place_page(void);

#endif
