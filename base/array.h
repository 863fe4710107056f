/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_BASE_ARRAY_H
#define GASPIPE_BASE_ARRAY_H

#include <stddef.h>

/*
 * Makes space for `needed` items of `size` bytes in an array from malloc() (or NULL, with
 * *capacity 0), doubling it so that adding one by one is cheap. Returns the items, which may have
 * moved; NULL when out of memory or size_t, with `items` and *capacity unchanged.
 */
void *array_reserve(void *items, size_t *capacity, size_t needed, size_t size);

#endif
