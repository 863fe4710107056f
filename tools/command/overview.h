/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TOOLS_COMMAND_OVERVIEW_H
#define GASPIPE_TOOLS_COMMAND_OVERVIEW_H

#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "slog/model/model.h"
#include "tools/stats/groups.h"
#include "tools/stats/outliers.h"
#include "tools/stats/rank.h"

/* `slogreport summary` on one screen: where the time went, what was slowest, what stalled. */

struct overview_counts {
    uint64_t deliveries, failed, cut, bare, loose;
    int64_t cpu_wait, worker_cpu_wait; /* nanoseconds that gaspipe and workers had no CPU */
    struct model_waits waits;          /* the same by part */
    int64_t cut_unattributed, bare_unattributed; /* nanoseconds */
};

void overview_count(struct overview_counts *counts, const struct model_delivery *delivery);

struct overview {
    struct overview_counts counts;
    struct rank slowest;
    struct outliers outliers;
};

void overview_init(struct overview *overview);

/* A delivery that is not selected counts for what is usual. -1 when out of memory. */
int overview_add(struct overview *overview, const struct model_delivery *delivery, bool wanted,
                 struct error *error);

/*
 * Appends where the time went: each part and phase once, so that they add up to the whole. The
 * groups have the kinds ALL and PHASE.
 */
void overview_append_totals(struct buf *out, const struct groups *groups,
                            const struct overview_counts *counts);

/* Appends all of it; the groups also have the kind VAT. -1 when out of memory. */
int overview_append(struct buf *out, struct overview *overview, const struct groups *groups,
                    struct error *error);

void overview_free(struct overview *overview);

#endif
