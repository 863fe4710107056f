/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_BASE_STAMP_H
#define GASPIPE_BASE_STAMP_H

#include <stdint.h>

/*
 * A moment on both clocks. `real` is what slogfiles and xsnap's timestamps hold
 * and can be set by the administrator; `mono` compares between the processes of
 * one host and never goes back.
 */
struct stamp {
    int64_t real; /* microseconds since the epoch, gettimeofday(2) */
    int64_t mono; /* nanoseconds of CLOCK_MONOTONIC */
};

struct stamp stamp_now(void);

/* Returns the current stamp for half the price: it reads only CLOCK_MONOTONIC, and derives `real`
 * from `first`. So a clock that is set meanwhile does not show between the two. */
struct stamp stamp_after(struct stamp first);

#endif
