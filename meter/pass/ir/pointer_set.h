/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_METER_PASS_IR_POINTER_SET_H
#define GASPIPE_METER_PASS_IR_POINTER_SET_H

#include <stdbool.h>
#include <stddef.h>

/*
 * A map from pointers to small numbers. One that is all zeros is empty. Memory that runs
 * out ends the program: a compiler has nobody to go back to.
 */
struct pointer_set {
    struct pointer_set_entry {
        const void *pointer; /* NULL: free */
        size_t number;
    } * entries;
    size_t count;
    size_t capacity; /* 0 or a power of two */
};

void pointer_set_add(struct pointer_set *set, const void *pointer, size_t number);

/* Is it there? `number`, which may be NULL, gets what it was added with. */
bool pointer_set_find(const struct pointer_set *set, const void *pointer, size_t *number);

void pointer_set_free(struct pointer_set *set);

/* As malloc(), zeroed; ends the program instead of returning NULL. */
void *pass_allocate(size_t count, size_t size);

#endif
