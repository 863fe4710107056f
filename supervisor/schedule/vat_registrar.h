/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_SCHEDULE_VAT_REGISTRAR_H
#define GASPIPE_SUPERVISOR_SCHEDULE_VAT_REGISTRAR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "kernel/kernel.h"
#include "supervisor/vats/warehouse.h"

/* Tells the warehouse what the kernel knows of its vats. Both are borrowed. */
struct vat_registrar {
    struct kernel *kernel;
    struct warehouse *warehouse;
    bool counted; /* workers run under the counter of instructions */
    bool metered; /* workers have the meter compiled in */
};

/*
 * Registers a vat, or what has changed about it. ERROR_INPUT for a vat with a limit on
 * instructions or block cost where nothing counts them.
 */
int vat_registrar_provide(const struct vat_registrar *registrar, const struct kernel_vat *vat,
                          struct error *error);

/* The same with the kernel's description of that vat; a terminated vat is left alone. */
int vat_registrar_update(const struct vat_registrar *registrar, int64_t vat, struct error *error);

/* Registers the delivery's vat if the warehouse does not know it, or not in this incarnation. */
int vat_registrar_prepare(const struct vat_registrar *registrar,
                          const struct kernel_delivery *delivery, struct error *error);

/* Ends the vat's worker: a vat that lives comes back when it is next delivered to. */
int vat_registrar_stop(const struct vat_registrar *registrar, int64_t vat, struct error *error);

#endif
