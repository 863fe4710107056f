/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_KERNEL_RECORDS_REFERENCE_SET_H
#define GASPIPE_KERNEL_RECORDS_REFERENCE_SET_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "kernel/kernel.h"

/*
 * Krefs, each once, in the order in which they came. One that is all zeros is
 * empty. May grow while it is gone over by index.
 */
struct reference_set {
    char (*items)[KERNEL_REF_SIZE];
    size_t count, capacity;
    size_t *slots; /* an item's index + 1, at its hash or behind; 0: free */
    size_t slot_count;
};

int reference_set_add(struct reference_set *set, const char *kref, struct error *error);
bool reference_set_has(const struct reference_set *set, const char *kref);
void reference_set_clear(struct reference_set *set);
void reference_set_free(struct reference_set *set);

#endif
