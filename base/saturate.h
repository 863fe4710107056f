/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_BASE_SATURATE_H
#define GASPIPE_BASE_SATURATE_H

#include <stdint.h>

/*
 * Sums of what others report. A meter from a file or from a worker may claim anything: a result
 * that has no room stays at the largest or least value there is.
 */
static inline int64_t saturate_add(int64_t one, int64_t other)
{
    int64_t sum;

    if (__builtin_add_overflow(one, other, &sum))
        return other > 0 ? INT64_MAX : INT64_MIN;
    return sum;
}

static inline int64_t saturate_subtract(int64_t from, int64_t less)
{
    int64_t difference;

    if (__builtin_sub_overflow(from, less, &difference))
        return less > 0 ? INT64_MIN : INT64_MAX;
    return difference;
}

#endif
