/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/schedule/snapshot_policy.h"

/* This part of an interval is ahead of a snapshot: a vat that is left alone then keeps the worker
 * that has been made ready, and few are. */
enum { AHEAD_PART = 20 };

bool snapshot_policy_is_due(const struct snapshot_policy *policy, int64_t saved_at, int64_t end)
{
    const int64_t deliveries = end - (saved_at > 0 ? saved_at : 0);

    if (policy->interval == 0 || deliveries == 0)
        return false;
    return deliveries + 1 >= (int64_t)policy->interval ||
           (saved_at < 0 && deliveries + 1 >= (int64_t)policy->initial);
}

bool snapshot_policy_is_near(const struct snapshot_policy *policy, int64_t saved_at, int64_t end,
                             int64_t ahead)
{
    const int64_t part = (int64_t)(policy->interval / AHEAD_PART);

    return snapshot_policy_is_due(policy, saved_at, end + 1) ||
           (saved_at >= 0 &&
            snapshot_policy_is_due(policy, saved_at, end + 1 + (ahead > part ? ahead : part)));
}
