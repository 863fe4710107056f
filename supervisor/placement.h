/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_PLACEMENT_H
#define GASPIPE_SUPERVISOR_PLACEMENT_H

#include <sched.h>

#include "base/error.h"

/*
 * Which processor each end of a pipe runs on. One core waking another costs
 * many times what a switch on one core does (docs/benchmarks.md), and who waits
 * for an answer has no use for a second core meanwhile.
 */
enum placement_kind {
    PLACEMENT_NONE,   /* wherever the system puts them */
    PLACEMENT_SAME,   /* this process and what it starts share one processor */
    PLACEMENT_SPREAD, /* this process on one processor, what it starts on another */
};

struct placement {
    enum placement_kind kind;
    cpu_set_t before; /* what this thread might use before */
    int here;         /* this process's processor; -1: not pinned */
    int there;        /* the processor of what it starts; -1: not pinned */
};

/* The kind of that name: "none", "same", "spread". 0, or -1 for another word. */
int placement_parse(const char *word, enum placement_kind *kind);
const char *placement_name(enum placement_kind kind);

/*
 * Pins the calling thread. -1 with ERROR_SYSTEM when there are too few
 * processors or the system does not allow it.
 */
int placement_open(struct placement *placement, enum placement_kind kind, struct error *error);

/* Lets the thread run where it might before. */
void placement_close(const struct placement *placement);

/* What is started between these two runs where `there` says. */
int placement_begin_start(const struct placement *placement, struct error *error);
int placement_end_start(const struct placement *placement, struct error *error);

#endif
