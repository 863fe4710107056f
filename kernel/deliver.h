/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_KERNEL_DELIVER_H
#define GASPIPE_KERNEL_DELIVER_H

#include <jansson.h>
#include <stdint.h>

#include "base/error.h"
#include "kernel/kernel.h"
#include "kernel/state.h"

/* Begins deliveries: translates queued work into a delivery to its vat. */

/* Does the work of the current crank (kernel->crank.kind and .message). Afterwards
 * kernel->crank.delivery.in_progress says if there is a delivery to send. */
int deliver_work(struct kernel *kernel, struct error *error);

/* Begins the crank's second delivery: bringOutYourDead before a snapshot. */
int deliver_before_snapshot(struct kernel *kernel, struct error *error);

/* Begins the second delivery of an upgrade: startVat, after the old incarnation's last delivery. */
int deliver_upgraded(struct kernel *kernel, struct error *error);

/* Forgets the current delivery. */
void deliver_forget(struct kernel *kernel);

/* Queue items: {"type":"send",...}, SwingSet's run-queue events. */

/* Reads an item's kind. ERROR_SYSTEM if it lacks a member that this kind needs. */
int work_item_read(const json_t *item, enum crank_kind *kind, struct error *error);

const char *work_item_name(enum crank_kind kind);

#endif
