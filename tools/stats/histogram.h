/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TOOLS_STATS_HISTOGRAM_H
#define GASPIPE_TOOLS_STATS_HISTOGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * How often which values came, to 1 part in 64: a histogram with buckets that
 * grow with the value (64 to each doubling, as HdrHistogram has them). Counts,
 * sums, smallest and greatest are exact. Two histograms add up to the one that
 * all their values together would have made.
 *
 * All zeros is an empty one. Memory is 16 bytes for each bucket that has a
 * value, some hundreds for the times of one kind of thing.
 */
struct histogram_bucket {
    uint32_t index;
    uint64_t count;
};

struct histogram {
    uint64_t count;
    uint64_t total; /* stays at UINT64_MAX when it would be more */
    uint64_t minimum, maximum;
    struct histogram_bucket *buckets; /* by index; owned */
    size_t bucket_count, bucket_capacity;
};

/* How many indices there are: all are below. */
enum { HISTOGRAM_INDICES = 64 * 59 };

/* The bucket of a value, and the smallest value of a bucket. */
uint32_t histogram_index(uint64_t value);
uint64_t histogram_lowest(uint32_t index);

/* Adds a value. -1 when memory ran out; the histogram is then as before. */
int histogram_add(struct histogram *histogram, uint64_t value);

/* Adds `count` to a bucket only, for who puts a histogram together; as above. */
int histogram_add_bucket(struct histogram *histogram, uint32_t index, uint64_t count);

/* Adds all of `other`'s values. -1 when memory ran out: some of them may be in. */
int histogram_merge(struct histogram *histogram, const struct histogram *other);

/*
 * The value that a share (0 to 1) of all values do not exceed: the middle of
 * its bucket, never below the smallest or above the greatest. 0 when empty.
 */
uint64_t histogram_quantile(const struct histogram *histogram, double share);

void histogram_free(struct histogram *histogram);

#endif
