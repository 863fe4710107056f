/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TRACE_READ_TRACE_BUDGET_H
#define GASPIPE_TRACE_READ_TRACE_BUDGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/*
 * Keeps what tracing costs a process below a share of its own time: where it is more, the
 * functions that cost most are left out. From time to time one of them is tried again, as
 * far as what the process has not used of its share pays for it, and longer after each time that
 * it was too much. It does no I/O.
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
    double rate;    /* calls a nanosecond of the process's own, when it was left out */
    bool left_out;
    uint32_t rest;      /* rounds before it is tried again */
    uint32_t next_rest; /* the next time */
    uint64_t tried;     /* the round in which it was, last */
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
    size_t left_out_count;
    double account; /* nanoseconds for trying functions again; below 0: too much was used */
    struct trace_spent settled; /* what is in the account, of the time since the last decision */
    uint64_t settled_events, settled_cold, rounds;
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
 * Decides anew: *chosen gets the numbers to be left out from now on, borrowed until the next
 * call; how many is returned.
 */
size_t trace_budget_decide(struct trace_budget *budget, struct trace_spent spent,
                           const uint32_t **chosen);

/*
 * A round is over, such as a delivery: *chosen gets the numbers that may be tried again, at most
 * `most`, those called least first. What the caller does put back it says by trace_budget_try().
 */
size_t trace_budget_round(struct trace_budget *budget, struct trace_spent spent, size_t most,
                          const uint32_t **chosen);
void trace_budget_try(struct trace_budget *budget, uint32_t number);

/* It cannot be put back, ever. */
void trace_budget_give_up(struct trace_budget *budget, uint32_t number);

#endif
