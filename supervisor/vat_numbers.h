/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_VAT_NUMBERS_H
#define GASPIPE_SUPERVISOR_VAT_NUMBERS_H

#include <stdint.h>

#include "base/error.h"
#include "store/store.h"

/* The counters that number vats, cranks and deliveries, in the store's keys. */

struct vat_numbers {
    int64_t id;            /* 1, 2, ...: the N of its vatID vN */
    int64_t delivery_next; /* number of its next delivery; the first is 1 */
};

/* Those of the vat of that name; a new one when there is none. Outside of blocks. */
int vat_numbers_provide(struct store *store, const char *name, struct vat_numbers *numbers,
                        struct error *error);

/* The number of the next crank; the first is 0. */
int vat_numbers_crank_next(struct store *store, int64_t *crank_num, struct error *error);

/* Within a block: the crank and this vat's delivery have had their numbers. */
int vat_numbers_count_delivery(struct store *store, int64_t vat, struct error *error);

#endif
