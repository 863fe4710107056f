/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TOOLS_STATS_INTERVALS_H
#define GASPIPE_TOOLS_STATS_INTERVALS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "slog/model/model.h"

/*
 * Sums of live deliveries by interval of time, or by block of a chain. Intervals begin at multiples
 * of their length since the epoch. A delivery is counted where it began; its time is divided among
 * the intervals in which it passed, so no sum exceeds the interval unless deliveries overlap.
 * Deliveries spoiled by a change of the clock are left out, as in groups.
 */

/* Nanoseconds. Unattributed is the total without UP, DOWN, WORKER and KERNEL. */
enum interval_part {
    INTERVAL_TOTAL,
    INTERVAL_UP,
    INTERVAL_DOWN,
    INTERVAL_WORKER,
    INTERVAL_KERNEL,
    INTERVAL_CPU_WAIT, /* gaspipe's; of a delivery in two intervals, by its time in each */
    INTERVAL_WORKER_CPU_WAIT,
    INTERVAL_PARTS,
};

enum { INTERVAL_WORDS_SIZE = 64, INTERVALS_MOST = 1000000 };

struct interval {
    int64_t number; /* multiple of the length, or the block's height */
    int64_t length; /* nanoseconds; of a block, up to the next one, and 0 if it is not known */
    uint64_t deliveries, failed;
    int64_t parts[INTERVAL_PARTS];
    bool waits_known;                /* of a delivery: CPU waits */
    int64_t slowest;                 /* the longest total of those that began in it */
    char words[INTERVAL_WORDS_SIZE]; /* which: "c216 v4 bulkPut"; cut if it is long */
};

/* All zeros but the length is empty. */
struct intervals {
    int64_t length;          /* nanoseconds; 0: by block */
    struct interval *sorted; /* by number; owned */
    size_t count, capacity;
    uint64_t without_block; /* deliveries outside of blocks, which are in no row */
};

/* -1 with ERROR_USAGE if there are more than INTERVALS_MOST, or when out of memory. */
int intervals_add(struct intervals *intervals, const struct model_delivery *delivery,
                  struct error *error);

/* Adds the time of a block that has deliveries. */
void intervals_add_block(struct intervals *intervals, const struct phase_block *block);

int64_t interval_unattributed(const struct interval *interval);

void intervals_free(struct intervals *intervals);

#endif
