/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TOOLS_COMMAND_WAITS_H
#define GASPIPE_TOOLS_COMMAND_WAITS_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "slog/read/names.h"
#include "tools/command/cost_file.h"

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

enum { WAIT_BEHIND = 3 };

/* What ran longest while a delivery waited, the longest first. */
struct wait_behind {
    const struct wait_delivery *deliveries[WAIT_BEHIND];
    int64_t times[WAIT_BEHIND]; /* nanoseconds */
    size_t count;
};

struct wait_behind wait_find_behind(const struct wait_sums *sums,
                                    const struct wait_delivery *waiter);

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

/* The parts of a delivery; NULL with *count 0 where there are none. */
const struct wait_part *wait_functions_of(const struct wait_functions *functions, size_t delivery,
                                          size_t *count);

/* Everything borrowed. */
struct waits_report {
    const struct wait_sums *sums;           /* computed */
    const struct wait_functions *functions; /* computed; empty without a profile */
    const struct wait_delivery **handers;   /* all deliveries, which handed on most first */
    const struct wait_delivery **waiters;   /* all, which waited longest first */
    size_t most;                            /* of each to be shown */
};

void waits_render_text(struct buf *out, const struct waits_report *report);
void waits_render_json(struct buf *out, const struct waits_report *report);

#endif
