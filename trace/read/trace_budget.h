/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TRACE_READ_TRACE_BUDGET_H
#define GASPIPE_TRACE_READ_TRACE_BUDGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/*
 * Keeps what tracing costs a process below a share of its own time: where it is more, the
 * functions that cost most are left out, for good. It does no I/O.
 */

/* What was used since the last decision, in nanoseconds. */
struct trace_spent {
    int64_t process; /* by the traced process, tracing included */
    int64_t reader;  /* by the reader */
};

struct budget_function {
    uint64_t calls; /* since the last decision */
    uint64_t cold;  /* of them, those whose trampoline nobody had used for a while */
    uint64_t last;  /* the time of the last call's event */
    uint64_t all;   /* since the beginning */
    bool left_out;
};

struct trace_budget {
    double share; /* of the process's own time: 0.05 */
    /* Nanoseconds of the process for an event; the caller sets it. Where the reader takes longer,
     * that counts: a process that is faster waits for it. */
    double event_cost;
    /* What a call costs on top of its events when its trampoline is in no cache any more, because
     * more than so much of the events' time has passed since the last. The caller sets them; 0:
     * such calls are not told from others. */
    double cold_cost;
    uint64_t cold_after;
    struct budget_function *functions; /* owned; by number */
    uint32_t *order;                   /* owned; room to sort numbers */
    size_t count;                      /* of numbers */
    uint64_t events, cold;             /* since the last decision: events, and cold calls */
};

/* For the functions of a plan. -1 with ERROR_SYSTEM. trace_budget_close() in any case. */
int trace_budget_open(struct trace_budget *budget, double share, size_t functions,
                      struct error *error);
void trace_budget_close(struct trace_budget *budget);

/* Counts events, as trace/memory.h has them. */
void trace_budget_add(struct trace_budget *budget, const uint64_t *events, size_t count);

/* Whether trace_budget_decide() should be called. */
bool trace_budget_is_due(const struct trace_budget *budget);

/*
 * Decides: *chosen gets the numbers to be left out from now on, borrowed until the next
 * call; how many is returned.
 */
size_t trace_budget_decide(struct trace_budget *budget, struct trace_spent spent,
                           const uint32_t **chosen);

#endif
