/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_COUNTER_QEMU_REGION_H
#define GASPIPE_COUNTER_QEMU_REGION_H

#include <stdbool.h>
#include <stdint.h>

#include "counter/qemu/tally.h"
#include "counter/report.h"

/*
 * The arithmetic of a region between two marks. It is given the tally of the
 * moment and does not ask for it, so that it knows nothing of threads.
 */

enum region_state {
    REGION_CLOSED,
    REGION_RUNNING,
    REGION_PAUSED,
};

/* All zeros: a region that was never open. */
struct region {
    enum region_state state;
    struct tally entered;            /* the tally when it last began to run */
    struct tally kept;               /* what it did before that */
    uint64_t limit;                  /* instructions; 0: none */
    uint64_t calls[REPORT_SYSCALLS]; /* system calls that began in it, by report_call() */
};

/* Opens at zero, whatever the region was before. */
void region_start(struct region *region, struct tally now, uint64_t limit);

/* Does nothing to a region that is not open. */
void region_stop(struct region *region, struct tally now);

/* Does nothing to a region that is not running. */
void region_pause(struct region *region, struct tally now);

/* Does nothing to a region that is not paused. */
void region_resume(struct region *region, struct tally now);

/* A system call of that number begins. Does nothing to a region that is not running. */
void region_note_call(struct region *region, int64_t number);

/* What happened in the region so far, or until it was closed. */
struct tally region_tally(const struct region *region, struct tally now);

bool region_over_limit(const struct region *region, struct tally now);

#endif
