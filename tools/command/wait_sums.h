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
 * Finds which deliveries ran while others waited in the queue. A running delivery passes on delay
 * to each waiting one: as much as it runs meanwhile. So it passes on its time multiplied by the
 * number of waiting deliveries, and one delivery's wait may be counted for several that ran at the
 * same time.
 */

struct wait_delivery {
    uint32_t vat, words; /* in `vats` and `words` of wait_sums */
    int64_t delivery_num;
    int64_t start, total; /* nanoseconds since the epoch; of the delivery itself */
    int64_t waited;       /* in the queue before; 0 if not known or not wanted */
    int64_t handed;       /* delay passed on to others, nanoseconds */
    uint64_t waiting;     /* how many waited at any time while it ran */
};

/* All zeros is empty. */
struct wait_sums {
    struct wait_delivery *deliveries; /* owned; by start after wait_sums_compute() */
    size_t count, capacity;
    struct names vats, words; /* IDs; descriptions */
    uint64_t waiters;
    int64_t waited, handed; /* in all */
};

/* Adds a live delivery. If not `wanted`, its own waiting does not count. */
int wait_sums_add(struct wait_sums *sums, const struct model_delivery *delivery, bool wanted,
                  struct error *error);

/* Call after the last wait_sums_add(). -1 when out of memory. */
int wait_sums_compute(struct wait_sums *sums, struct error *error);

enum { WAIT_MEANWHILE = 3 };

/* The deliveries that ran longest while another waited, the longest first. */
struct wait_meanwhile {
    const struct wait_delivery *deliveries[WAIT_MEANWHILE];
    int64_t times[WAIT_MEANWHILE]; /* nanoseconds */
    size_t count;
};

struct wait_meanwhile wait_find_meanwhile(const struct wait_sums *sums,
                                          const struct wait_delivery *waiter);

void wait_sums_free(struct wait_sums *sums);

/*
 * Finds which functions made others wait. The delay that a delivery passed on is split as its own
 * cost is in its profile, by computrons, instructions or time.
 */

/* A function's share of a delivery. */
struct wait_part {
    uint32_t delivery; /* index in the sums */
    uint32_t function; /* in `names` */
    double share;      /* of the delivery's whole profile */
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
    struct wait_function *functions; /* owned; the most delay first */
    size_t function_count;
    enum cost_unit unit;
    uint64_t strangers; /* functions of unknown deliveries */
};

/*
 * Adds a profile; all must have the same unit. Deliveries are matched by vat and number. -1 with
 * ERROR_INPUT or ERROR_SYSTEM.
 */
int wait_functions_read(struct wait_functions *functions, const struct wait_sums *sums,
                        const char *path, struct error *error);

/* When all are in. */
int wait_functions_compute(struct wait_functions *functions, const struct wait_sums *sums,
                           struct error *error);

/* The parts of a delivery; NULL with *count 0 if none. */
const struct wait_part *wait_functions_of(const struct wait_functions *functions, size_t delivery,
                                          size_t *count);

void wait_functions_free(struct wait_functions *functions);

#endif
