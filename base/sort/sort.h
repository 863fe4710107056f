/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_BASE_SORT_SORT_H
#define GASPIPE_BASE_SORT_SORT_H

#include <stddef.h>

typedef int sort_compare(const void *left, const void *right);
typedef int sort_compare_with(const void *left, const void *right, void *context);

/*
 * Sorts as qsort(3) and qsort_r(3) of glibc 2.36 do when there is memory: stable, with the same
 * comparisons in the same order, also for a comparison that contradicts itself. glibc's own asks
 * for the machine's memory from 1 KiB on, which a confined worker may not, and chooses its
 * algorithm by the answer. `scratch` has space for count * size bytes; fewer than two
 * items need none.
 */
void sort_stable(void *items, size_t count, size_t size, sort_compare *compare, void *scratch);
void sort_stable_with(void *items, size_t count, size_t size, sort_compare_with *compare,
                      void *context, void *scratch);

#endif
