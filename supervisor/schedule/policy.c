/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/schedule/policy.h"

/* ---- snapshots ---- */

bool policy_snapshot_due(const struct snapshot_policy *policy, int64_t saved_at, int64_t end)
{
    const int64_t deliveries = end - (saved_at > 0 ? saved_at : 0);

    if (policy->interval == 0 || deliveries == 0)
        return false;
    return deliveries + 1 >= (int64_t)policy->interval ||
           (saved_at < 0 && deliveries + 1 >= (int64_t)policy->initial);
}

/* ---- after a loss ---- */

enum { FIRST_PAUSE_MS = 50, DOUBLINGS_MAX = 16 };

static uint64_t retries_after(enum vat_loss kind, uint64_t retries)
{
    if (kind == VAT_LOSS_HOPELESS)
        return 0;
    return kind == VAT_LOSS_ONCE && retries > 1 ? 1 : retries;
}

struct policy_decision policy_after_loss(const struct policy_loss *given)
{
    const unsigned doublings = given->tries - 1 < DOUBLINGS_MAX ? given->tries - 1 : DOUBLINGS_MAX;
    struct policy_decision retry = {.retries = retries_after(given->kind, given->retries)};

    retry.action = POLICY_AGAIN;
    if (given->tries > retry.retries)
        retry.action = given->kind == VAT_LOSS_HOST ? POLICY_GIVE_UP : POLICY_QUARANTINE;
    else if (given->in_crank)
        retry.pause_ms = (uint64_t)FIRST_PAUSE_MS << doublings;
    return retry;
}

/* ---- limits ---- */

static int64_t limit_value(const struct kernel_limits *limits, enum worker_limit_kind kind)
{
    switch (kind) {
    case WORKER_LIMIT_COMPUTRONS:
        return limits->compute;
    case WORKER_LIMIT_INSTRUCTIONS:
        return limits->instructions > 0 ? limits->instructions : limits->counted_instructions;
    case WORKER_LIMIT_COST:
        return limits->cost > 0 ? limits->cost : limits->metered_cost;
    case WORKER_LIMIT_HEAP:
        return limits->heap_bytes;
    default:
        return 0;
    }
}

struct delivery_limit policy_limit_met(const struct kernel_limits *limits, const char *reason)
{
    const struct worker_limit limit = worker_exit_limit(reason);

    if (limits == NULL || limit.kind == WORKER_LIMIT_NONE)
        return (struct delivery_limit){0};
    return (struct delivery_limit){.of = limit, .value = limit_value(limits, limit.kind)};
}
