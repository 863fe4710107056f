/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_KERNEL_LIFECYCLE_DAMAGED_VAT_H
#define GASPIPE_KERNEL_LIFECYCLE_DAMAGED_VAT_H

#include <stdint.h>

#include "base/error.h"

struct kernel;

/*
 * Before a vat is terminated: deletes records of it that are damaged, and writes those without
 * which it could not be terminated. Of its references one record says what the other was. The vat
 * cannot be run afterwards. Does nothing if no record is damaged.
 */
int damaged_vat_mend(struct kernel *kernel, int64_t vat, struct error *error);

#endif
