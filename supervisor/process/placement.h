/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_PROCESS_PLACEMENT_H
#define GASPIPE_SUPERVISOR_PROCESS_PLACEMENT_H

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/cpu_wait.h"

#include "base/error.h"

struct worker_process;

/*
 * The CPU of each end of a pipe. To wake another core takes many times as long as a switch on one
 * core (docs/benchmarks.md), and a process that waits for an answer needs no second core meanwhile.
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

/* A slot for placement_open(): no other process works at the same time. */
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
 * Call it when deliveries begin. With PLACEMENT_AUTO, if deliveries do not overlap, the first call
 * moves this thread and the workers that it has started to one CPU; workers that start side by side
 * before it may run anywhere. If Linux refuses, they stay where they are.
 */
void placement_gather(struct placement *placement);

/*
 * Says on stderr that the one CPU of both ends was busy with other work, if they waited for it for
 * a tenth of `total`. Nanoseconds.
 */
void placement_explain_busy(const struct placement *placement, const struct cpu_waits *waits,
                            int64_t total);

/* A process that is started between these two runs on the CPU `there`. */
int placement_begin_start(const struct placement *placement, struct error *error);
int placement_end_start(const struct placement *placement, struct error *error);

/* ---- CPUs of workers whose deliveries overlap ---- */

/*
 * With PLACEMENT_AUTO, if deliveries overlap: adds a CPU to `reserved` and returns it. That is
 * `last` if it is free, and the calling thread's only if no other is; -1: none is free. By itself
 * Linux often wakes the second worker on the CPU of the first, where it waits for milliseconds
 * while another CPU is idle.
 */
int placement_reserve_cpu(const struct placement *placement, cpu_set_t *reserved, int last);

/* Wakes a worker on that CPU: call the first before a frame is sent to it. After the second it may
 * run anywhere again. */
void placement_pin(const struct worker_process *process, int cpu);
void placement_unpin(const struct placement *placement, const struct worker_process *process);

#endif
