/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_KERNEL_WORK_ITEM_H
#define GASPIPE_KERNEL_WORK_ITEM_H

#include <jansson.h>

#include "base/error.h"
#include "kernel/state.h"

/* What stands in the queues: {"type":"send",...}, SwingSet's run-queue events. */

/* Its kind, when it has all that this kind must have; else ERROR_SYSTEM. */
int work_item_read(const json_t *item, enum crank_kind *kind, struct error *error);

const char *work_item_name(enum crank_kind kind);

#endif
