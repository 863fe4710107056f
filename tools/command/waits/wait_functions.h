/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TOOLS_COMMAND_WAITS_WAIT_FUNCTIONS_H
#define GASPIPE_TOOLS_COMMAND_WAITS_WAIT_FUNCTIONS_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "tools/command/profile/cost_file.h"
#include "tools/command/waits/wait_sums.h"

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
