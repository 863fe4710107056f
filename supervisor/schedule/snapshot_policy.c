/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/schedule/snapshot_policy.h"

bool snapshot_policy_is_due(const struct snapshot_policy *policy, int64_t saved_at, int64_t end)
{
    const int64_t deliveries = end - (saved_at > 0 ? saved_at : 0);

    if (policy->interval == 0 || deliveries == 0)
        return false;
    return deliveries + 1 >= (int64_t)policy->interval ||
           (saved_at < 0 && deliveries + 1 >= (int64_t)policy->initial);
}
