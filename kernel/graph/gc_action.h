/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_KERNEL_GRAPH_GC_ACTION_H
#define GASPIPE_KERNEL_GRAPH_GC_ACTION_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "kernel/kernel.h"

/*
 * What vats must be told about garbage: `gcActions`, a sorted JSON array of
 * "vN dropExport koN", "vN retireExport koN", "vN retireImport koN". Decided at
 * the end of a crank, done before any other delivery, and looked at again then:
 * the object may be in use again, or gone.
 */

enum gc_action { GC_DROP_EXPORT, GC_RETIRE_EXPORT, GC_RETIRE_IMPORT };

/* To an array of such texts. */
int gc_action_append(json_t *actions, int64_t vat, enum gc_action action, const char *koid,
                     struct error *error);

/* Puts an array of them into `gcActions`. */
int gc_action_add(struct kernel *kernel, const json_t *actions, struct error *error);

/*
 * The next work, the caller's, as an item of the run queue:
 * {"type":"dropExports","vatID":"vN","krefs":[...]}, or
 * {"type":"negated-gc-action"} when none of those queued is right any more. NULL: there is none.
 */
int gc_action_next(struct kernel *kernel, json_t **item, struct error *error);

/* The vats of all that is queued, an array of vatIDs, each as often as it is told of something;
 * the caller's. */
int gc_action_vats(struct kernel *kernel, json_t **vat_ids, struct error *error);

#endif
