/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_BASE_SORT_SORT_H
#define GASPIPE_BASE_SORT_SORT_H

#include <stddef.h>

typedef int sort_compare(const void *left, const void *right);
typedef int sort_compare_with(const void *left, const void *right, void *context);

/* Sorts like qsort(3) and qsort_r(3) of glibc 2.36 with enough memory: stable, with the same
 * comparisons in the same order, even if the comparison contradicts itself. glibc's own allocates
 * memory from 1 KiB on, and chooses its algorithm by the result; a confined worker may not allocate
 * like that. `scratch` needs count * size bytes; fewer than two items need none. */
void sort_stable(void *items, size_t count, size_t size, sort_compare *compare, void *scratch);
void sort_stable_with(void *items, size_t count, size_t size, sort_compare_with *compare,
                      void *context, void *scratch);

#endif
