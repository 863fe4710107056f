/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_KERNEL_LIFECYCLE_OPERATOR_WORK_H
#define GASPIPE_KERNEL_LIFECYCLE_OPERATOR_WORK_H

#include <jansson.h>

#include "base/error.h"
#include "kernel/kernel.h"

/*
 * The operator's decisions about vats, and quarantines by the supervisor; kernel.h has the
 * functions that queue them. Each runs before all other work, in a crank without a delivery.
 * The record `operatorQueue` has the queued ones; it is absent if none is queued.
 */

/* Removes the first, which the caller frees; NULL with 0 if none is queued. */
int operator_work_next(struct kernel *kernel, json_t **item, struct error *error);

/* Does the crank's item. */
int operator_work_do(struct kernel *kernel, struct error *error);

/*
 * Returns true for an upgrade that the operator asked for. It ends a quarantine and is the next
 * crank, without a last delivery to the old incarnation, whose worker may be what fails. If it
 * fails too, it is held like other work.
 */
bool operator_work_is_upgrade(const json_t *item);
int operator_work_upgrade(struct kernel *kernel, int64_t vat, struct error *error);

#endif
