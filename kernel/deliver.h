/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_KERNEL_DELIVER_H
#define GASPIPE_KERNEL_DELIVER_H

#include <jansson.h>
#include <stdint.h>

#include "base/error.h"
#include "kernel/kernel.h"
#include "kernel/state.h"

/* The beginning of deliveries: what the work in hand means for its vat. */

/*
 * Does the work of the crank under way (kernel->crank.kind and .message). After
 * it kernel->crank.delivery.in_progress says whether there is a delivery to make.
 */
int deliver_work(struct kernel *kernel, struct error *error);

/* A further delivery of the same crank: bringOutYourDead before a snapshot. */
int deliver_before_snapshot(struct kernel *kernel, struct error *error);

/* ... and the startVat of an upgrade, after the vat's last words. */
int deliver_upgraded(struct kernel *kernel, struct error *error);

/* Forgets the delivery under way. */
void deliver_forget(struct kernel *kernel);

/* What stands in the queues: {"type":"send",...}, SwingSet's run-queue events. */

/* Its kind, when it has all that this kind must have; else ERROR_SYSTEM. */
int work_item_read(const json_t *item, enum crank_kind *kind, struct error *error);

const char *work_item_name(enum crank_kind kind);

#endif
