/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/read/trace_budget.h"

#include <inttypes.h>
#include <stdlib.h>

#include "trace/memory.h"

enum {
    DECISION_EVENTS = 4000, /* enough to tell which functions are called most */
    SHOWN = 8,
};

int trace_budget_open(struct trace_budget *budget, double share, size_t functions,
                      struct error *error)
{
    *budget = (struct trace_budget){.share = share, .count = functions + 1};
    budget->calls = calloc(budget->count, sizeof *budget->calls);
    budget->all = calloc(budget->count, sizeof *budget->all);
    budget->left_out = calloc(budget->count, sizeof *budget->left_out);
    budget->order = calloc(budget->count, sizeof *budget->order);
    if (budget->calls != NULL && budget->all != NULL && budget->left_out != NULL &&
        budget->order != NULL)
        return 0;
    return error_memory(error, "the budget of a trace");
}

void trace_budget_close(struct trace_budget *budget)
{
    free(budget->calls);
    free(budget->all);
    free(budget->left_out);
    free(budget->order);
    *budget = (struct trace_budget){0};
}

void trace_budget_add(struct trace_budget *budget, const uint64_t *events, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const uint64_t number = events[i] >> 1 & 0x7fff;

        if ((events[i] & 1) == 0 && number < budget->count) {
            budget->calls[number]++;
            budget->all[number]++;
        }
    }
    budget->events += count;
}

bool trace_budget_is_due(const struct trace_budget *budget)
{
    return budget->events >= DECISION_EVENTS;
}

/* ---- a decision ---- */

static int compare_calls(const void *left, const void *right, void *calls_of)
{
    const uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    const uint64_t *calls = calls_of;

    if (calls[a] != calls[b])
        return calls[a] > calls[b] ? -1 : 1;
    return (a > b) - (a < b);
}

/* The numbers of functions, those with most calls first. */
static void sort(struct trace_budget *budget, uint64_t *calls)
{
    for (size_t i = 0; i < budget->count; i++)
        budget->order[i] = (uint32_t)i;
    qsort_r(budget->order, budget->count, sizeof *budget->order, compare_calls, calls);
}

/* How many events the share pays for. */
static double events_allowed(const struct trace_budget *budget, struct trace_spent spent)
{
    const double events = (double)budget->events;
    const double reading = (double)spent.reader / events;
    const double event = reading > budget->event_cost ? reading : budget->event_cost;
    const double own = (double)spent.process - events * budget->event_cost;

    return own > 0 ? own * budget->share / event : 0;
}

size_t trace_budget_decide(struct trace_budget *budget, struct trace_spent spent,
                           const uint32_t **chosen)
{
    const double allowed = events_allowed(budget, spent);
    double events = (double)budget->events;
    size_t count = 0;

    sort(budget, budget->calls);
    *chosen = budget->order;
    /* A call is two events. */
    while (events > allowed && count < budget->count && budget->calls[budget->order[count]] > 0) {
        const uint32_t number = budget->order[count++];

        events -= 2 * (double)budget->calls[number];
        budget->left_out_count += !budget->left_out[number];
        budget->left_out[number] = true;
    }
    for (size_t i = 0; i < budget->count; i++)
        budget->calls[i] = 0;
    budget->events = 0;
    return count;
}

/* ---- words ---- */

void trace_budget_put(struct trace_budget *budget, const struct patch_plan *plan, struct buf *out)
{
    size_t shown = 0;

    if (budget->left_out_count == 0)
        return;
    sort(budget, budget->all);
    buf_printf(out, "%zu functions left out to keep the overhead, the most called: ",
               budget->left_out_count);
    for (size_t i = 0; i < budget->count && shown < SHOWN; i++) {
        const uint32_t number = budget->order[i];

        if (!budget->left_out[number] || number > plan->count)
            continue;
        buf_printf(out, "%s%s after %" PRIu64 " calls", shown > 0 ? ", " : "",
                   plan->functions[number - 1].name, budget->all[number]);
        shown++;
    }
    buf_append_string(out, budget->left_out_count > shown ? ", …" : "");
}
