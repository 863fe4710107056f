/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_KERNEL_LIFECYCLE_DYNAMIC_VAT_H
#define GASPIPE_KERNEL_LIFECYCLE_DYNAMIC_VAT_H

#include <jansson.h>
#include <stdint.h>

#include "base/error.h"
#include "kernel/kernel.h"

/* Vats that vats make, upgrade and change: the work that the vatAdmin device queues. */

/* The records of the vat that a "create-vat" item asks for. */
int dynamic_vat_create(struct kernel *kernel, const json_t *item, int64_t *vat,
                       struct error *error);

/*
 * Between the last words of a vat and the startVat of its next incarnation, as an
 * "upgrade-vat" item asks for it: what was not durable is gone.
 */
int dynamic_vat_begin_incarnation(struct kernel *kernel, int64_t vat, const json_t *item,
                                  struct error *error);

/* Tells the vatAdmin vat how the upgrade came out, or that the vat was made. */
int dynamic_vat_tell_upgraded(struct kernel *kernel, int64_t vat, const json_t *item, bool well,
                              struct error *error);
int dynamic_vat_tell_created(struct kernel *kernel, int64_t vat, struct error *error);

/* Sets the options that are the kernel's; *others gets those for the vat, the caller's. */
int dynamic_vat_change_options(struct kernel *kernel, int64_t vat, const json_t *options,
                               json_t **others, struct error *error);

#endif
