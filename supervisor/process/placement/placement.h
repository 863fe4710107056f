/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_PROCESS_PLACEMENT_PLACEMENT_H
#define GASPIPE_SUPERVISOR_PROCESS_PLACEMENT_PLACEMENT_H

#include <sched.h>

#include "base/error.h"
#include "supervisor/process/placement/placement_auto.h"

struct worker_process;

/*
 * Which processor each end of a pipe runs on. One core waking another costs
 * many times what a switch on one core does (docs/benchmarks.md), and who waits
 * for an answer has no use for a second core meanwhile.
 */
enum placement_kind {
    PLACEMENT_NONE,   /* wherever the system puts them */
    PLACEMENT_SAME,   /* this process and what it starts share one processor */
    PLACEMENT_SPREAD, /* this process on one processor, what it starts on another */
    PLACEMENT_AUTO,   /* as placement_observe() finds best */
};

struct placement {
    enum placement_kind kind;
    cpu_set_t before;               /* what this thread might use before */
    int here;                       /* this process's processor; -1: not pinned */
    int there;                      /* the processor of what it starts; -1: not pinned */
    int seat;                       /* the processor to try first together; -1: none */
    struct placement_auto decision; /* of PLACEMENT_AUTO */
    bool stuck;                     /* there is nothing to choose, or it is not allowed */
};

/* "none", "same", "spread", "auto", by enum placement_kind; ends with NULL. */
extern const char *const placement_names[];

/* Of placement_open(): there are no others to keep apart from. */
enum { PLACEMENT_NO_SEAT = -1 };

/*
 * Pins the calling thread. `seat` is its number, from 0, among processes that are at work at the
 * same time, each with a worker: they take the processors in turn, so that they do not meet on one
 * while others are idle. -1 with ERROR_SYSTEM when there are too few processors or the system does
 * not allow it.
 */
int placement_open(struct placement *placement, enum placement_kind kind, int seat,
                   struct error *error);

/* What is started between these two runs where `there` says. */
int placement_begin_start(const struct placement *placement, struct error *error);
int placement_end_start(const struct placement *placement, struct error *error);

/* Of PLACEMENT_AUTO: the worker may run wherever this thread might before. */
void placement_set_aside(const struct placement *placement, const struct worker_process *process);

/* A time that is not known; any negative one is. */
enum { PLACEMENT_UNKNOWN = -1 };

/*
 * How long a delivery waited, from the nanoseconds that its frames were in the pipe, that the
 * worker had it, and that the worker used a processor. PLACEMENT_UNKNOWN where `pipe` is.
 */
int64_t placement_waited(int64_t pipe, int64_t worker, int64_t processor);

/*
 * Of PLACEMENT_AUTO: tells of a delivery, and moves this thread and the workers that it has
 * started where they are best from now on, within what the thread might use before. True
 * when they were moved: *reason is why, for people, and `here` on which processor they are
 * together, or -1. Of other kinds nothing changes.
 */
bool placement_observe(struct placement *placement, const struct placement_observation *seen,
                       const char **reason);

#endif
