/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TRACE_CALLS_TRACE_SUMS_H
#define GASPIPE_TRACE_CALLS_TRACE_SUMS_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "trace/calls/call_tree.h"
#include "trace/calls/thread_stack.h"
#include "trace/memory.h"

enum { TRACE_LANES_MAX = 256 };

/* The events of one process added up as they come, thread by thread. */
struct trace_sums {
    struct call_tree tree;
    struct thread_stack stacks[TRACE_LANES_MAX];
    struct call_cuts cuts[TRACE_LANES_MAX]; /* where there are some */
    bool cut;
};

/* What was counted by all threads. */
struct trace_counts {
    uint64_t events;    /* entries and exits of functions */
    uint64_t unwound;   /* calls that ended without returning */
    uint64_t unmatched; /* calls whose exits did not come: 0 unless signals disturb */
    uint64_t lost;      /* events that found no room */
};

/* 0, or -1 with ERROR_SYSTEM without memory; it is then closed. */
int trace_sums_open(struct trace_sums *sums, struct error *error);
void trace_sums_close(struct trace_sums *sums);

/* As a trace_sink's; lanes from TRACE_LANES_MAX on are left out. */
int trace_sums_add(struct trace_sums *sums, unsigned lane, const uint64_t *events, size_t count,
                   struct error *error);
void trace_sums_end_lane(struct trace_sums *sums, unsigned lane);

struct trace_counts trace_sums_counts(const struct trace_sums *sums);

#endif
