/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/stats/histogram.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

/* Values below 64 have a bucket each; above, 64 buckets share each doubling. */
enum { SUB_BITS = 6, SUB_BUCKETS = 1 << SUB_BITS };

uint32_t histogram_index(uint64_t value)
{
    uint32_t exponent;

    if (value < SUB_BUCKETS)
        return (uint32_t)value;
    exponent = 63 - (uint32_t)__builtin_clzll(value) - SUB_BITS;
    /* The value without its leading bit, cut to the sub-bits. */
    return SUB_BUCKETS * (exponent + 1) + (uint32_t)(value >> exponent) - SUB_BUCKETS;
}

uint64_t histogram_lowest(uint32_t index)
{
    uint32_t exponent;

    if (index < SUB_BUCKETS)
        return index;
    exponent = index / SUB_BUCKETS - 1;
    return (uint64_t)(index % SUB_BUCKETS + SUB_BUCKETS) << exponent;
}

static uint64_t middle_of(uint32_t index)
{
    uint64_t width = index < SUB_BUCKETS ? 1 : (uint64_t)1 << (index / SUB_BUCKETS - 1);

    return histogram_lowest(index) + (width - 1) / 2;
}

/*
 * The index of the bucket, or where it belongs. Called for each value, and without branches on the
 * comparisons, half of which the CPU would mispredict.
 */
static size_t find_bucket(const struct histogram *histogram, uint32_t index)
{
    const struct histogram_bucket *from = histogram->buckets;
    size_t left = histogram->bucket_count;

    if (left == 0)
        return 0;
    while (left > 1) {
        const size_t half = left / 2;

        from += half * (from[half - 1].index < index);
        left -= half;
    }
    return (size_t)(from - histogram->buckets) + (from->index < index);
}

int histogram_add_bucket(struct histogram *histogram, uint32_t index, uint64_t count)
{
    size_t at = find_bucket(histogram, index);
    struct histogram_bucket *buckets = histogram->buckets;

    if (at < histogram->bucket_count && buckets[at].index == index) {
        buckets[at].count += count;
        return 0;
    }
    buckets = array_reserve(buckets, &histogram->bucket_capacity, histogram->bucket_count + 1,
                            sizeof *buckets);
    if (buckets == NULL)
        return -1;
    histogram->buckets = buckets;
    memmove(&buckets[at + 1], &buckets[at], (histogram->bucket_count - at) * sizeof *buckets);
    buckets[at] = (struct histogram_bucket){index, count};
    histogram->bucket_count++;
    return 0;
}

/* Adds count, total, minimum and maximum of added values. */
static void add_sums(struct histogram *histogram, uint64_t count, uint64_t total, uint64_t minimum,
                     uint64_t maximum)
{
    if (histogram->count == 0 || minimum < histogram->minimum)
        histogram->minimum = minimum;
    if (histogram->count == 0 || maximum > histogram->maximum)
        histogram->maximum = maximum;
    histogram->count += count;
    if (__builtin_add_overflow(histogram->total, total, &histogram->total))
        histogram->total = UINT64_MAX;
}

int histogram_add(struct histogram *histogram, uint64_t value)
{
    if (histogram_add_bucket(histogram, histogram_index(value), 1) != 0)
        return -1;
    add_sums(histogram, 1, value, value, value);
    return 0;
}

void histogram_add_sum(struct histogram *histogram, uint64_t value)
{
    add_sums(histogram, 1, value, value, value);
}

int histogram_merge(struct histogram *histogram, const struct histogram *other)
{
    if (other->count == 0)
        return 0;
    for (size_t i = 0; i < other->bucket_count; i++) {
        if (histogram_add_bucket(histogram, other->buckets[i].index, other->buckets[i].count) != 0)
            return -1;
    }
    add_sums(histogram, other->count, other->total, other->minimum, other->maximum);
    return 0;
}

static uint64_t between(uint64_t value, uint64_t lowest, uint64_t highest)
{
    if (value < lowest)
        return lowest;
    return value > highest ? highest : value;
}

uint64_t histogram_quantile(const struct histogram *histogram, double share)
{
    double wanted = ceil(share * (double)histogram->count);
    uint64_t rank = wanted < 1 ? 1 : (uint64_t)wanted, seen = 0;

    if (rank >= histogram->count)
        return histogram->maximum;
    for (size_t i = 0; i < histogram->bucket_count; i++) {
        seen += histogram->buckets[i].count;
        if (seen >= rank)
            return between(middle_of(histogram->buckets[i].index), histogram->minimum,
                           histogram->maximum);
    }
    return histogram->maximum;
}

void histogram_free(struct histogram *histogram)
{
    free(histogram->buckets);
    *histogram = (struct histogram){0};
}
