/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_PING_PING_SAMPLES_H
#define GASPIPE_SUPERVISOR_PING_PING_SAMPLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* Many measurements of one thing, in nanoseconds. */
struct ping_samples {
    int64_t *items; /* owned */
    size_t count;
    size_t capacity;
};

/* All zeros is an empty list. 0, or -1 with ERROR_SYSTEM without memory. */
int ping_samples_reserve(struct ping_samples *samples, size_t capacity, struct error *error);
void ping_samples_free(struct ping_samples *samples);

/* Within what was reserved. */
static inline void ping_samples_add(struct ping_samples *samples, int64_t nanoseconds)
{
    samples->items[samples->count++] = nanoseconds;
}

/* Puts them in order, which what follows wants. */
void ping_samples_sort(struct ping_samples *samples);

/*
 * The smallest that `share` (0 to 1) of all do not exceed (nearest rank); of at
 * least one, sorted.
 */
int64_t ping_samples_percentile(const struct ping_samples *samples, double share);

int64_t ping_samples_mean(const struct ping_samples *samples);

/*
 * The next bar of a histogram whose edges stand in the ratio of the square root
 * of 2, from the sample *next on. Moves *next behind the samples that fall into
 * it. False when there are no more. The lowest bar, 0 to 1, has also what
 * clocks of microseconds make negative.
 */
struct ping_bar {
    int64_t from, to; /* nanoseconds; from <= sample < to */
    size_t count;
};
bool ping_samples_bar(const struct ping_samples *samples, size_t *next, struct ping_bar *bar);

#endif
