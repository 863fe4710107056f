/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_KERNEL_LIFECYCLE_OPERATOR_WORK_H
#define GASPIPE_KERNEL_LIFECYCLE_OPERATOR_WORK_H

#include <jansson.h>

#include "base/error.h"
#include "kernel/kernel.h"

/*
 * What people decide about vats, and the quarantine that their supervisor puts one into
 * (kernel.h has the functions that ask for it). Each is work of its own, the most urgent, and a
 * crank without a delivery. `operatorQueue` has what is not done yet; the record is missing where
 * there is nothing.
 */

/* Takes the first of it, the caller's; NULL with 0: there is none. */
int operator_work_next(struct kernel *kernel, json_t **item, struct error *error);

/* Does the crank's item. */
int operator_work_do(struct kernel *kernel, struct error *error);

/*
 * Whether the item is an upgrade that people asked for. For a vat in quarantine it is not held, but
 * ends the quarantine and is the next crank, which gives the old incarnation no last delivery: its
 * worker may be what is broken. If that does not end either, it is held like other work.
 */
bool operator_work_is_upgrade(const json_t *item);
int operator_work_upgrade(struct kernel *kernel, int64_t vat, struct error *error);

#endif
