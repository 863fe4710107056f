/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TOOLS_COMMAND_WAIT_SUMS_H
#define GASPIPE_TOOLS_COMMAND_WAIT_SUMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "slog/model/model.h"
#include "slog/read/names.h"
#include "tools/command/cost_groups.h"

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

/*
 * Which functions made others wait: the delay that a delivery handed on, split as what it took
 * itself is in its profile, by computrons, instructions or time.
 */

/* What a function took of a delivery. */
struct wait_part {
    uint32_t delivery; /* in the sums */
    uint32_t function; /* in `names` */
    double share;      /* of all that the delivery's profile has */
};

struct wait_function {
    uint32_t name;
    double handed; /* nanoseconds */
};

/* All zeros is empty. */
struct wait_functions {
    struct names names;      /* "transfer (bank.js:7)" */
    struct wait_part *parts; /* owned; by delivery, the largest share first */
    size_t count, capacity;
    struct wait_function *functions; /* owned; which handed on most first */
    size_t function_count;
    enum cost_unit unit;
    uint64_t strangers; /* functions of deliveries that the sums do not have */
};

/*
 * Takes in a profile; all of one unit. Deliveries are known by vat and number. -1 with ERROR_INPUT
 * or ERROR_SYSTEM.
 */
int wait_functions_read(struct wait_functions *functions, const struct wait_sums *sums,
                        const char *path, struct error *error);

/* When all are in. */
int wait_functions_compute(struct wait_functions *functions, const struct wait_sums *sums,
                           struct error *error);

/* The parts of a delivery; NULL with *count 0 where there are none. */
const struct wait_part *wait_functions_of(const struct wait_functions *functions, size_t delivery,
                                          size_t *count);

void wait_functions_free(struct wait_functions *functions);

#endif
