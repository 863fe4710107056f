/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_KERNEL_GRAPH_RETIRE_H
#define GASPIPE_KERNEL_GRAPH_RETIRE_H

#include <jansson.h>
#include <stdint.h>

#include "base/error.h"
#include "kernel/kernel.h"

/* How objects end: abandoned by their vat, or retired. */

/* Removes the vat as owner and the entry of its c-list. ERROR_INPUT if another vat owns it. */
int retire_abandon(struct kernel *kernel, const char *koid, int64_t vat, struct error *error);

/* Deletes objects (an array of krefs), and queues retireImport for every vat that imports them. */
int retire_objects(struct kernel *kernel, const json_t *koids, struct error *error);

#endif
