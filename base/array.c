/* SPDX-License-Identifier: Apache-2.0 */
#include "base/array.h"

#include <stdint.h>
#include <stdlib.h>

enum { FIRST_CAPACITY = 16 };

void *array_reserve(void *items, size_t *capacity, size_t needed, size_t size)
{
    size_t larger = *capacity > 0 ? *capacity : FIRST_CAPACITY;
    void *moved;

    if (items != NULL && needed <= *capacity)
        return items;
    while (larger < needed)
        larger = larger > SIZE_MAX / 2 ? needed : larger * 2;
    if (larger > SIZE_MAX / size)
        return NULL;
    moved = realloc(items, larger * size);
    if (moved != NULL)
        *capacity = larger;
    return moved;
}
