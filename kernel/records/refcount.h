/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_KERNEL_RECORDS_REFCOUNT_H
#define GASPIPE_KERNEL_RECORDS_REFCOUNT_H

#include <jansson.h>
#include <stdbool.h>

#include "base/error.h"
#include "kernel/kernel.h"

/*
 * How many hold a reference. Promises have one count. Objects have two: how many
 * can reach it, and how many can tell it from others (c-lists of vats that
 * import it, messages and values in the kernel); a c-list entry of the vat that
 * exports it counts for a promise and not for an object. Devices are for good.
 * What falls to nought is put into kernel->maybe_free, for the end of the crank.
 */

enum refcount_holder {
    REFCOUNT_KERNEL, /* a queue, a promise's value, a pin: reaches it */
    REFCOUNT_IMPORT, /* a c-list entry of one who imports it: only tells it from others */
    REFCOUNT_EXPORT, /* a c-list entry of one who exports it: likewise */
};

struct object_counts {
    int64_t reachable, recognizable;
};

int refcount_increment(struct kernel *kernel, const char *kref, enum refcount_holder holder,
                       struct error *error);
int refcount_decrement(struct kernel *kernel, const char *kref, enum refcount_holder holder,
                       struct error *error);

/* Each kref in a JSON array of texts, held by the kernel. */
int refcount_increment_all(struct kernel *kernel, const json_t *krefs, struct error *error);
int refcount_decrement_all(struct kernel *kernel, const json_t *krefs, struct error *error);

/* *exists is false, and the counts are nought, for an object that was deleted. */
int refcount_of_object(struct kernel *kernel, const char *kref, struct object_counts *counts,
                       bool *exists, struct error *error);
int refcount_set_object(struct kernel *kernel, const char *kref, const struct object_counts *counts,
                        struct error *error);

#endif
