/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TOOLS_COMMAND_COMPARE_RANKING_H
#define GASPIPE_TOOLS_COMMAND_COMPARE_RANKING_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "tools/command/options.h"
#include "tools/stats/pairs.h"

/*
 * How much each delivery was slowed from A to B, and whether that changed which deliveries take
 * longest: what a change that should disturb nothing, such as tracing, has to be judged by. Of the
 * deliveries that both files time.
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
    size_t ranks[2];   /* by total, the longest is 0; equals in the order of their coming */
    int64_t totals[2]; /* nanoseconds */
};

struct ranking {
    struct ranked *deliveries; /* owned; by rank in A */
    size_t count;
    double ratios[RANKING_QUANTILES]; /* B to A of a delivery's total */
    double correlation;               /* Spearman's, of the ranks; 1 below two deliveries */
    size_t top, kept;                 /* so many of A's `top` longest are among B's */
    size_t largest_part_changed; /* deliveries in which another of pipe, worker, kernel leads */
};

/* After pairs_compute(). -1 with ERROR_SYSTEM without memory. ranking_free() in any case. */
int ranking_make(struct ranking *ranking, const struct pairs *pairs, struct error *error);
void ranking_free(struct ranking *ranking);

/* "10 %", ... */
const char *ranking_quantile_name(enum ranking_quantile quantile);

/*
 * `slogreport compare` of three or more files: who is slow, and where they part.
 * ERROR_DELIVERY when they do.
 */
int compare_many_run(const struct options *options, struct error *error);

#endif
