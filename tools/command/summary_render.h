/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TOOLS_COMMAND_SUMMARY_RENDER_H
#define GASPIPE_TOOLS_COMMAND_SUMMARY_RENDER_H

#include "base/buf.h"
#include "tools/stats/groups.h"
#include "tools/stats/growth/growth.h"

/*
 * What shares are shares of: the time, computrons and instructions of all live deliveries, or for
 * the group of replays of all replayed ones. The time between deliveries is in none of them, so
 * its share is one of theirs and its own together. A phase's share is one of the time of all
 * phases.
 */
struct summary_totals {
    struct summary_whole {
        double time, between, compute, instructions, block_cost, gas_burnt, queued, gas;
    } live, replayed, phases;
};

struct summary_totals summary_totals(const struct groups *groups);

/* A group's time in nanoseconds, to sort by: of a syscall, of all its spans. */
uint64_t summary_time(const struct group *group);

/* One output format; begin and growth may be NULL. */
struct summary_ops {
    void (*begin)(struct buf *out);
    void (*group)(struct buf *out, const struct group *group, const struct summary_totals *totals);
    void (*growth)(struct buf *out, const struct growth *growth);
};

extern const struct summary_ops summary_text, summary_json, summary_csv;

#endif
