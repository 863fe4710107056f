/* SPDX-License-Identifier: Apache-2.0 */
#include "base/sort/sort.h"

#include <string.h>

struct sort {
    size_t size;
    sort_compare_with *compare;
    void *context;
    char *scratch;
};

/* The left one of two equal items goes first. `size` is a constant in calls that copy often. */
__attribute__((always_inline)) static inline void merge(const struct sort *sort, char *items,
                                                        size_t left, size_t right, size_t size)
{
    char *first = items, *second = items + left * size, *to = sort->scratch;

    while (left > 0 && right > 0) {
        if (sort->compare(first, second, sort->context) <= 0) {
            memcpy(to, first, size);
            first += size;
            left--;
        } else {
            memcpy(to, second, size);
            second += size;
            right--;
        }
        to += size;
    }
    if (left > 0)
        memcpy(to, first, left * size);
    memcpy(items, sort->scratch, (size_t)(second - items));
}

/* Other halves would be compared in another order than by glibc. */
static void sort_items(const struct sort *sort, char *items, size_t count)
{
    const size_t left = count / 2, right = count - left;

    if (count <= 1)
        return;
    sort_items(sort, items, left);
    sort_items(sort, items + left * sort->size, right);
    switch (sort->size) {
    case 1:
        merge(sort, items, left, right, 1);
        break;
    case 2:
        merge(sort, items, left, right, 2);
        break;
    case 4:
        merge(sort, items, left, right, 4);
        break;
    case 8:
        merge(sort, items, left, right, 8);
        break;
    default:
        merge(sort, items, left, right, sort->size);
    }
}

void sort_stable_with(void *items, size_t count, size_t size, sort_compare_with *compare,
                      void *context, void *scratch)
{
    const struct sort sort = {size, compare, context, scratch};

    if (size > 0)
        sort_items(&sort, items, count);
}

struct plain {
    sort_compare *compare;
};

static int compare_plain(const void *left, const void *right, void *context)
{
    return ((const struct plain *)context)->compare(left, right);
}

void sort_stable(void *items, size_t count, size_t size, sort_compare *compare, void *scratch)
{
    struct plain plain = {compare};

    sort_stable_with(items, count, size, compare_plain, &plain, scratch);
}
