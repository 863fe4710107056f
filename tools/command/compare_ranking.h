/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TOOLS_COMMAND_COMPARE_RANKING_H
#define GASPIPE_TOOLS_COMMAND_COMPARE_RANKING_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "tools/command/options.h"
#include "tools/stats/pairs.h"

/*
 * How much slower each delivery is in B than in A, and whether that changed which take longest:
 * the measure of a change that should disturb nothing, such as tracing. Considers deliveries timed
 * in both files.
 */

enum ranking_quantile {
    RANKING_LEAST,
    RANKING_TENTH,
    RANKING_HALF,
    RANKING_NINETY,
    RANKING_NINETY_NINE,
    RANKING_MOST,
    RANKING_QUANTILES
};

struct ranked {
    uint32_t number;   /* of the pair */
    size_t ranks[2];   /* by total, the longest is 0; equals in file order */
    int64_t totals[2]; /* nanoseconds */
};

struct ranking {
    struct ranked *deliveries; /* owned; by rank in A */
    size_t count;
    double ratios[RANKING_QUANTILES]; /* of a delivery's total, B to A */
    double correlation;               /* Spearman's, of the ranks; 1 for fewer than two
                                         deliveries */
    size_t top, kept;                 /* `kept` of A's `top` longest are among B's */
    size_t largest_part_changed;      /* deliveries in which the largest of pipe, worker and kernel
                                         changed */
};

/* Call after pairs_compute(). -1 when out of memory. ranking_free() in any case. */
int ranking_make(struct ranking *ranking, const struct pairs *pairs, struct error *error);
void ranking_free(struct ranking *ranking);

/*
 * `slogreport compare` of three or more files: which is slow, and where they diverge.
 * ERROR_DELIVERY if they do.
 */
int compare_many_run(const struct options *options, struct error *error);

#endif
