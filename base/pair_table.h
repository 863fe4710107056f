/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_BASE_PAIR_TABLE_H
#define GASPIPE_BASE_PAIR_TABLE_H

#include <stddef.h>
#include <stdint.h>

/* A hash table from pairs of numbers to a number. All zeros: empty. */
struct pair {
    uint64_t a, b;
    uint64_t value;
};

struct pair_table {
    struct pair *slots; /* owned; unused if `is_used` is 0 */
    uint8_t *is_used;   /* owned */
    size_t capacity, count;
};

/* Returns the pair's entry, valid until the next call; a new one has the value 0. NULL if out of
 * memory. */
struct pair *pair_table_find(struct pair_table *pairs, uint64_t a, uint64_t b);

/* Returns the pair's value; 0 if absent. */
uint64_t pair_table_value(const struct pair_table *pairs, uint64_t a, uint64_t b);

/* Returns the next entry at or after *at and advances *at; NULL at the end. Begin with 0. */
struct pair *pair_table_next(const struct pair_table *pairs, size_t *at);

void pair_table_free(struct pair_table *pairs);

#endif
