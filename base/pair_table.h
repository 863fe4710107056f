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
    struct pair *slots; /* owned; those with `is_used` clear are empty */
    uint8_t *is_used;   /* owned */
    size_t capacity, count;
};

/*
 * The entry for the pair, with the value 0 where it is new; to be used until
 * the next call. NULL without memory.
 */
struct pair *pair_table_find(struct pair_table *pairs, uint64_t a, uint64_t b);

/* What the pair has; 0 where there is none. */
uint64_t pair_table_value(const struct pair_table *pairs, uint64_t a, uint64_t b);

/* The next entry at or after *at, which moves on; NULL at the end. Begin with 0. */
struct pair *pair_table_next(const struct pair_table *pairs, size_t *at);

void pair_table_free(struct pair_table *pairs);

#endif
