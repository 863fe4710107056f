/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_SCHEDULE_POLICY_H
#define GASPIPE_SUPERVISOR_SCHEDULE_POLICY_H

#include <stdbool.h>
#include <stdint.h>

#include "supervisor/schedule/log/delivery_report.h"
#include "supervisor/vats/warehouse.h"

/* The scheduler's rules. Pure. */

/* ---- snapshots ---- */

/* After how many deliveries vats get snapshots, as SwingSet counts them. */
struct snapshot_policy {
    uint64_t interval; /* from one snapshot of a vat to the next; 0: no snapshots */
    uint64_t initial;  /* up to a vat's first one */
};

/*
 * Returns true if a vat is due for a snapshot: its transcript has `end` deliveries, `saved_at` of
 * them in its last snapshot (-1: it has none). The worker's start counts as one more delivery.
 */
bool policy_snapshot_due(const struct snapshot_policy *policy, int64_t saved_at, int64_t end);

/* ---- after a loss ---- */

/* A worker that was lost by the host's doing, or perhaps its vat's: it was killed, crashed or hung,
 * or cannot restore its vat. */
struct policy_loss {
    bool in_crank;      /* a crank's delivery was in progress, or waited for the worker: the crank
                         * runs again; otherwise only the worker is started */
    enum vat_loss kind; /* HOST, SUSPECT, ONCE or HOPELESS */
    unsigned tries;     /* that failed in a row, at least 1 */
    uint64_t retries;   /* that are allowed after the first */
};

enum policy_action {
    POLICY_GIVE_UP,    /* end the run */
    POLICY_QUARANTINE, /* put the vat into quarantine and continue with the others */
    POLICY_AGAIN,      /* after the pause */
};

struct policy_decision {
    enum policy_action action;
    uint64_t retries;  /* that are allowed in this case */
    uint64_t pause_ms; /* before a crank; doubles with each try: the host may recover */
};

struct policy_decision policy_after_loss(const struct policy_loss *given);

/* ---- limits ---- */

/* The limit that a worker met, by the reason for its end; all zeros if it met none. `limits` may be
 * NULL. */
struct delivery_limit policy_limit_met(const struct kernel_limits *limits, const char *reason);

#endif
