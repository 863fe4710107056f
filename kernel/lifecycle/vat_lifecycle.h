/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_KERNEL_LIFECYCLE_VAT_LIFECYCLE_H
#define GASPIPE_KERNEL_LIFECYCLE_VAT_LIFECYCLE_H

#include <jansson.h>
#include <stdbool.h>
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
int notify_upgraded(struct kernel *kernel, int64_t vat, const json_t *item, bool well,
                    struct error *error);
int notify_created(struct kernel *kernel, int64_t vat, struct error *error);

/* Sets the options that are the kernel's; *others gets those for the vat, the caller's. */
int dynamic_vat_change_options(struct kernel *kernel, int64_t vat, const json_t *options,
                               json_t **others, struct error *error);

/* The end of vats. */

/*
 * Ends a vat: it is in no list of vats that live, promises that it decided are
 * rejected, the vatAdmin vat is told, its worker is among those to stop. One that
 * does not live (its making was undone) is only told of. What it had is cleaned
 * up in cranks of their own. `info` is capdata with krefs, borrowed.
 */
int terminate_vat(struct kernel *kernel, int64_t vat, bool reject, const json_t *info,
                  struct error *error);

/*
 * Cleans up after the first vat that ended, all of it: exports become orphans,
 * imports and promises are let go, records and rows are deleted.
 */
int terminate_clean_up(struct kernel *kernel, int64_t vat, struct error *error);

/* Adds to the vats whose workers must stop. */
int terminate_stop_worker(struct kernel *kernel, int64_t vat, struct error *error);

/* Tells the vatAdmin vat, if there is one. Takes the arguments, smallcaps, and their krefs over. */
int notify_vat_admin(struct kernel *kernel, const char *method, json_t *arguments, json_t *slots,
                     struct error *error);

#endif
