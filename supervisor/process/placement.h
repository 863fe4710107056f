/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_PROCESS_PLACEMENT_H
#define GASPIPE_SUPERVISOR_PROCESS_PLACEMENT_H

#include <sched.h>
#include <stdbool.h>

#include "base/error.h"

struct worker_process;

/*
 * Which CPU each end of a pipe runs on. One core waking another costs many times what a switch on
 * one core does (docs/benchmarks.md), and a process that waits for an answer does not need a second
 * core meanwhile.
 */
enum placement_kind {
    PLACEMENT_NONE,   /* wherever Linux schedules them */
    PLACEMENT_SAME,   /* this process and what it starts share one CPU */
    PLACEMENT_SPREAD, /* this process on one CPU, what it starts on another */
    PLACEMENT_AUTO,   /* one CPU from the first delivery on; if deliveries overlap, anywhere */
};

struct placement {
    enum placement_kind kind;
    cpu_set_t before; /* the CPUs that this thread might use before */
    int here;         /* this process's CPU; -1: not pinned */
    int there;        /* the CPU of what it starts; -1: not pinned */
    int slot;         /* as in placement_open() */
    bool overlap;     /* of PLACEMENT_AUTO: several deliveries are in progress at a time */
    bool gathered;    /* likewise: placement_gather() was called */
};

/* "none", "same", "spread", "auto", by enum placement_kind; ends with NULL. */
extern const char *const placement_names[];

/* Of placement_open(): there are no others to keep apart from. */
enum { PLACEMENT_NO_SLOT = -1 };

/*
 * Pins the calling thread, unless `kind` leaves it where it is. `slot` is its number, from 0, among
 * processes that work at the same time, each with a worker: they take the CPUs in turn. `overlap`:
 * several deliveries are in progress at a time. -1 with ERROR_SYSTEM when there are too few CPUs or
 * Linux does not allow it.
 */
int placement_open(struct placement *placement, enum placement_kind kind, int slot, bool overlap,
                   struct error *error);

/*
 * Of PLACEMENT_AUTO, when deliveries begin and do not overlap: moves this thread and the workers
 * that it has started to one CPU. The first call counts: workers that start side by side before it
 * may run anywhere. Where it is not allowed, they stay where they are.
 */
void placement_gather(struct placement *placement);

/* What is started between these two runs where `there` says. */
int placement_begin_start(const struct placement *placement, struct error *error);
int placement_end_start(const struct placement *placement, struct error *error);

/* ---- CPUs of workers whose deliveries overlap ---- */

/*
 * Of PLACEMENT_AUTO, where deliveries overlap: adds a CPU that is not in `reserved` to it and
 * returns it: `last` if possible, and the calling thread's only if there is no other. -1: there is
 * none. By itself Linux often wakes the second worker on the CPU of the first, where it waits for
 * milliseconds while another CPU is idle.
 */
int placement_reserve_cpu(const struct placement *placement, cpu_set_t *reserved, int last);

/* Wakes a worker on that CPU: call the first before a frame is sent to it, and the second after,
 * when it may run anywhere again. */
void placement_pin(const struct worker_process *process, int cpu);
void placement_unpin(const struct placement *placement, const struct worker_process *process);

#endif
