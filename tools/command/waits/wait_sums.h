/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TOOLS_COMMAND_WAITS_WAIT_SUMS_H
#define GASPIPE_TOOLS_COMMAND_WAITS_WAIT_SUMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "slog/model/model.h"
#include "slog/read/names.h"

/*
 * How much of the time that deliveries waited in the queue others ran. A delivery hands on delay to
 * each that waits while it runs: as much as it runs meanwhile. So what it hands on is its time
 * times how many waited, and what one delivery waited may be counted for several that ran at one
 * time.
 */

struct wait_delivery {
    uint32_t vat, words; /* in `vats` and `words` below */
    int64_t delivery_num;
    int64_t start, total; /* nanoseconds since the epoch; of the delivery itself */
    int64_t waited;       /* in the queue before; 0 if that is not known or not wanted */
    int64_t handed;       /* delay that it handed on to others, nanoseconds */
    uint64_t waiting;     /* how many waited at some time while it ran */
};

/* All zeros is empty. */
struct wait_sums {
    struct wait_delivery *deliveries; /* owned; by start once they are computed */
    size_t count, capacity;
    struct names vats, words; /* IDs; descriptions */
    uint64_t waiters;
    int64_t waited, handed; /* in all */
};

/* Takes in a live delivery; of one that is not `wanted` its own waiting does not count. */
int wait_sums_add(struct wait_sums *sums, const struct model_delivery *delivery, bool wanted,
                  struct error *error);

/* When all are in. -1 with ERROR_SYSTEM without memory. */
int wait_sums_compute(struct wait_sums *sums, struct error *error);

/* How long `other` ran while `waiter` waited, nanoseconds. */
int64_t wait_overlap(const struct wait_delivery *waiter, const struct wait_delivery *other);

enum { WAIT_BEHIND = 3 };

/* What ran longest while a delivery waited, the longest first. */
struct wait_behind {
    const struct wait_delivery *deliveries[WAIT_BEHIND];
    int64_t times[WAIT_BEHIND]; /* nanoseconds */
    size_t count;
};

struct wait_behind wait_find_behind(const struct wait_sums *sums,
                                    const struct wait_delivery *waiter);

void wait_sums_free(struct wait_sums *sums);

#endif
