/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_BASE_ARRAY_H
#define GASPIPE_BASE_ARRAY_H

#include <stddef.h>

/*
 * Makes room for `needed` items of `size` bytes in an array that malloc() gave
 * (or NULL, with *capacity 0), doubling so that adding one by one stays cheap.
 * Returns where the items are now, to be kept in place of `items`; NULL when
 * memory or size_t ran out, and then `items` and *capacity are as they were.
 */
void *array_reserve(void *items, size_t *capacity, size_t needed, size_t size);

#endif
