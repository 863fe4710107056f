/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/read/trace_budget.h"

#include <stdlib.h>

#include "trace/memory.h"

enum { DECISION_EVENTS = 2000 }; /* enough to tell which functions are called most */

/* Of the share, half is aimed at when it is decided what is left out: the process also waits and
 * wakes, and its caches hold less of its own. */
#define AIMED_AT 0.5

int trace_budget_open(struct trace_budget *budget, double share, size_t functions,
                      struct error *error)
{
    *budget = (struct trace_budget){.share = share, .count = functions + 1};
    budget->functions = calloc(budget->count, sizeof *budget->functions);
    budget->order = calloc(budget->count, sizeof *budget->order);
    return budget->functions != NULL && budget->order != NULL
               ? 0
               : error_memory(error, "the budget of a trace");
}

void trace_budget_close(struct trace_budget *budget)
{
    free(budget->functions);
    free(budget->order);
    *budget = (struct trace_budget){0};
}

static void add_call(struct trace_budget *budget, struct budget_function *function, uint64_t time)
{
    function->calls++;
    function->all++;
    /* Those that are called very often have no time. */
    if (budget->cold_cost == 0 || time == 0)
        return;
    if (((time - function->last) & TRACE_TIME_MASK) > budget->cold_after) {
        function->cold++;
        budget->cold++;
    }
    function->last = time;
}

void trace_budget_add(struct trace_budget *budget, const uint64_t *events, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const uint64_t number = events[i] >> 1 & 0x7fff;

        if ((events[i] & 1) == 0 && number < budget->count)
            add_call(budget, &budget->functions[number], events[i] >> TRACE_TIME_SHIFT);
    }
    budget->events += count;
}

bool trace_budget_is_due(const struct trace_budget *budget)
{
    return budget->events >= DECISION_EVENTS;
}

/* ---- what is used ---- */

/* Nanoseconds that an event takes. */
static double event_price(const struct trace_budget *budget, struct trace_spent spent,
                          uint64_t events)
{
    const double reading = events > 0 ? (double)spent.reader / (double)events : 0;

    return reading > budget->event_cost ? reading : budget->event_cost;
}

/* Nanoseconds of the process that are tracing. */
static double traced_time(const struct trace_budget *budget, uint64_t events, uint64_t cold)
{
    return (double)events * budget->event_cost + (double)cold * budget->cold_cost;
}

/* Those that are not. */
static double own_time(struct trace_spent spent, double traced)
{
    const double own = (double)spent.process - traced;

    return own > 0 ? own : 0;
}

/* ---- a decision ---- */

/* A call is two events. */
static double cost_of(const struct trace_budget *budget, uint32_t number, double price)
{
    const struct budget_function *const function = &budget->functions[number];

    return 2 * (double)function->calls * price + (double)function->cold * budget->cold_cost;
}

static int compare_costs(const void *left, const void *right, void *budget_of)
{
    const uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    const struct trace_budget *const budget = budget_of;
    const double of_a = cost_of(budget, a, budget->event_cost);
    const double of_b = cost_of(budget, b, budget->event_cost);

    if (of_a != of_b)
        return of_a > of_b ? -1 : 1;
    return (a > b) - (a < b);
}

/* The numbers of functions, those that cost most first. */
static void sort_by_cost(struct trace_budget *budget)
{
    for (size_t i = 0; i < budget->count; i++)
        budget->order[i] = (uint32_t)i;
    qsort_r(budget->order, budget->count, sizeof *budget->order, compare_costs, budget);
}

static void begin_again(struct trace_budget *budget)
{
    for (size_t i = 0; i < budget->count; i++)
        budget->functions[i].calls = budget->functions[i].cold = 0;
    budget->events = budget->cold = 0;
}

size_t trace_budget_decide(struct trace_budget *budget, struct trace_spent spent,
                           const uint32_t **chosen)
{
    const double own = own_time(spent, traced_time(budget, budget->events, budget->cold));
    const double allowed = own * budget->share * AIMED_AT;
    const double price = event_price(budget, spent, budget->events);
    double used = (double)budget->events * price + (double)budget->cold * budget->cold_cost;
    size_t count = 0;

    sort_by_cost(budget);
    *chosen = budget->order;
    while (used > allowed && count < budget->count &&
           budget->functions[budget->order[count]].calls > 0) {
        const uint32_t number = budget->order[count++];

        used -= cost_of(budget, number, price);
        budget->functions[number].left_out = true;
    }
    begin_again(budget);
    return count;
}
