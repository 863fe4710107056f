/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_SCHEDULE_SNAPSHOT_POLICY_H
#define GASPIPE_SUPERVISOR_SCHEDULE_SNAPSHOT_POLICY_H

#include <stdbool.h>
#include <stdint.h>

/* When vats get snapshots: after how many deliveries, as SwingSet counts them. */
struct snapshot_policy {
    uint64_t interval; /* from one snapshot of a vat to the next; 0: no snapshots */
    uint64_t initial;  /* up to a vat's first one */
};

/*
 * Whether a vat is due for a snapshot: its transcript has `end` deliveries, `saved_at` of them
 * in its last snapshot (-1: it has none). The worker's start counts as one more delivery.
 */
bool snapshot_policy_is_due(const struct snapshot_policy *policy, int64_t saved_at, int64_t end);

#endif
