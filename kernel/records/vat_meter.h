/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_KERNEL_RECORDS_VAT_METER_H
#define GASPIPE_KERNEL_RECORDS_VAT_METER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "kernel/kernel.h"

/*
 * Meters: computrons that vats may use, mN.remaining ("unlimited" or a number)
 * and mN.threshold, below which the vatAdmin vat is told.
 */

enum { VAT_METER_UNLIMITED = -1 };

/* `meter_id` gets "mN". */
int vat_meter_create(struct kernel *kernel, int64_t remaining, int64_t threshold,
                     char meter_id[KERNEL_REF_SIZE], struct error *error);

struct vat_meter {
    int64_t remaining; /* computrons, or VAT_METER_UNLIMITED */
    int64_t threshold;
};

/* *found is false for what is no meter. */
int vat_meter_get(struct kernel *kernel, const char *meter_id, struct vat_meter *meter, bool *found,
                  struct error *error);
int vat_meter_set(struct kernel *kernel, const char *meter_id, const struct vat_meter *meter,
                  struct error *error);

/* Takes off what was used; *crossed: it is below the threshold now and was not before. */
int vat_meter_deduct(struct kernel *kernel, const char *meter_id, int64_t computrons,
                     struct vat_meter *left, bool *crossed, struct error *error);

#endif
