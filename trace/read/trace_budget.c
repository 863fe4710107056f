/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/read/trace_budget.h"

#include <stdlib.h>

#include "trace/memory.h"

enum {
    DECISION_EVENTS = 2000, /* enough to tell which functions are called most */
    ACCOUNT_DECISIONS = 16, /* what is not used for long cannot be used later */
    NEVER = UINT32_MAX,
};

/*
 * Of the share, half is aimed at when it is decided what is left out: the process also waits and
 * wakes, and its caches hold less of its own. A quarter pays for trying functions again.
 */
#define AIMED_AT  0.5
#define FOR_TRIES 0.25

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

/* Brings the account up to date, from what was used since the last decision. */
static void settle(struct trace_budget *budget, struct trace_spent spent)
{
    const double most = budget->event_cost * DECISION_EVENTS * ACCOUNT_DECISIONS;
    const struct trace_spent since = {spent.process - budget->settled.process,
                                      spent.reader - budget->settled.reader};
    const double traced = traced_time(budget, budget->events - budget->settled_events,
                                      budget->cold - budget->settled_cold);

    budget->account += own_time(since, traced) * budget->share * FOR_TRIES - traced;
    if (budget->account > most)
        budget->account = most;
    budget->settled = spent;
    budget->settled_events = budget->events;
    budget->settled_cold = budget->cold;
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

static void leave_out(struct trace_budget *budget, struct budget_function *function, double own)
{
    if (function->left_out)
        return;
    /* One that went well for as long as it had been out begins anew. */
    if (function->next_rest == 0 || budget->rounds - function->tried > function->next_rest)
        function->next_rest = 1;
    function->left_out = true;
    function->rate = (double)function->calls / (own + 1);
    function->rest = function->next_rest;
    if (function->next_rest < NEVER / 4)
        function->next_rest *= 2;
    budget->left_out_count++;
}

static void begin_anew(struct trace_budget *budget)
{
    for (size_t i = 0; i < budget->count; i++)
        budget->functions[i].calls = budget->functions[i].cold = 0;
    budget->events = budget->settled_events = 0;
    budget->cold = budget->settled_cold = 0;
    budget->settled = (struct trace_spent){0};
}

size_t trace_budget_decide(struct trace_budget *budget, struct trace_spent spent,
                           const uint32_t **chosen)
{
    const double own = own_time(spent, traced_time(budget, budget->events, budget->cold));
    const double allowed = own * budget->share * AIMED_AT;
    const double price = event_price(budget, spent, budget->events);
    double used = (double)budget->events * price + (double)budget->cold * budget->cold_cost;
    size_t count = 0;

    settle(budget, spent);
    sort_by_cost(budget);
    *chosen = budget->order;
    while (used > allowed && count < budget->count &&
           budget->functions[budget->order[count]].calls > 0) {
        const uint32_t number = budget->order[count++];

        used -= cost_of(budget, number, price);
        leave_out(budget, &budget->functions[number], own);
    }
    begin_anew(budget);
    return count;
}

/* ---- once more ---- */

/* Those that were too much least often come first, then those called least. */
static int compare_hopes(const void *left, const void *right, void *functions_of)
{
    const uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    const struct budget_function *functions = functions_of;

    if (functions[a].next_rest != functions[b].next_rest)
        return functions[a].next_rest < functions[b].next_rest ? -1 : 1;
    if (functions[a].rate != functions[b].rate)
        return functions[a].rate < functions[b].rate ? -1 : 1;
    return (a > b) - (a < b);
}

/* One round less to rest; how many have rested, whose numbers are `order` then. */
static size_t find_rested(struct trace_budget *budget)
{
    size_t count = 0;

    for (size_t i = 0; i < budget->count; i++) {
        struct budget_function *const function = &budget->functions[i];

        if (!function->left_out || function->rest == NEVER)
            continue;
        function->rest -= function->rest > 0;
        if (function->rest == 0)
            budget->order[count++] = (uint32_t)i;
    }
    return count;
}

size_t trace_budget_round(struct trace_budget *budget, struct trace_spent spent, size_t most,
                          const uint32_t **chosen)
{
    size_t count;

    settle(budget, spent);
    budget->rounds++;
    *chosen = budget->order;
    if (budget->left_out_count == 0)
        return 0;
    count = find_rested(budget);
    /* What finds out that they are too much again. */
    if (budget->account < DECISION_EVENTS * budget->event_cost)
        return 0;
    qsort_r(budget->order, count, sizeof *budget->order, compare_hopes, budget->functions);
    return count < most ? count : most;
}

void trace_budget_try(struct trace_budget *budget, uint32_t number)
{
    budget->functions[number].left_out = false;
    budget->functions[number].tried = budget->rounds;
    budget->left_out_count--;
}

void trace_budget_give_up(struct trace_budget *budget, uint32_t number)
{
    budget->functions[number].rest = NEVER;
}
