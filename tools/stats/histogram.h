/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TOOLS_STATS_HISTOGRAM_H
#define GASPIPE_TOOLS_STATS_HISTOGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A histogram with 64 buckets per doubling, as in HdrHistogram: values are exact to 1 part in 64.
 * Counts, sums, minimum and maximum are exact. Merging two histograms gives that of all their
 * values.
 *
 * All zeros is empty. Memory is 16 bytes per bucket with values, some hundreds of buckets for the
 * times of one kind.
 */
struct histogram_bucket {
    uint32_t index;
    uint64_t count;
};

struct histogram {
    uint64_t count;
    uint64_t total; /* saturates at UINT64_MAX */
    uint64_t minimum, maximum;
    struct histogram_bucket *buckets; /* by index; owned */
    size_t bucket_count, bucket_capacity;
};

/* The number of indices. */
enum { HISTOGRAM_INDICES = 64 * 59 };

/* The bucket of a value, and a bucket's smallest value. */
uint32_t histogram_index(uint64_t value);
uint64_t histogram_lowest(uint32_t index);

/* Adds a value. -1 when out of memory, with the histogram unchanged. */
int histogram_add(struct histogram *histogram, uint64_t value);

/* Adds a value to all but the buckets, for those who read no quantiles. */
void histogram_add_sum(struct histogram *histogram, uint64_t value);

/* Adds `count` to a bucket only, for reading a stored histogram; fails likewise. */
int histogram_add_bucket(struct histogram *histogram, uint32_t index, uint64_t count);

/* Adds all values of `other`. -1 when out of memory, with some added. */
int histogram_merge(struct histogram *histogram, const struct histogram *other);

/*
 * The value that a share (0 to 1) of all values does not exceed: the middle of its bucket, within
 * minimum and maximum. 0 if empty.
 */
uint64_t histogram_quantile(const struct histogram *histogram, double share);

void histogram_free(struct histogram *histogram);

#endif
