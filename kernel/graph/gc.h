/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_KERNEL_GRAPH_GC_H
#define GASPIPE_KERNEL_GRAPH_GC_H

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

/* How objects end: abandoned by their vat, or retired. */

/* Removes the vat as owner and the entry of its c-list. ERROR_INPUT if another vat owns it. */
int retire_abandon(struct kernel *kernel, const char *koid, int64_t vat, struct error *error);

/* Deletes objects (an array of krefs), and queues retireImport for every vat that imports them. */
int retire_objects(struct kernel *kernel, const json_t *koids, struct error *error);

/*
 * At the end of a crank: looks at what lost a reference in it. Promises that
 * nobody holds are deleted; objects that nobody reaches or can tell are put on
 * the list of garbage that their vats must be told of.
 */
int collect_unreferenced(struct kernel *kernel, struct error *error);

/*
 * When vats are sent bringOutYourDead: `reapQueue`, a JSON array of vatIDs, and
 * what each did since its last, vN.reapDirt {"deliveries":N,"gcKrefs":N},
 * against kernel.defaultReapDirtThreshold and the vat's own option.
 */

int reap_init(struct kernel *kernel, const struct kernel_options *options, struct error *error);
int reap_schedule(struct kernel *kernel, int64_t vat, struct error *error);

/* {"type":"bringOutYourDead","vatID":"vN"}, the caller's; NULL: there is none. */
int reap_next(struct kernel *kernel, json_t **item, struct error *error);

/* The same of what comes behind so many others, which stays queued. */
int reap_look(struct kernel *kernel, int64_t index, json_t **item, struct error *error);

/* The vat had a delivery, which told it of so many references. */
int reap_add_dirt(struct kernel *kernel, int64_t vat, int64_t gc_references, struct error *error);
int reap_clear_dirt(struct kernel *kernel, int64_t vat, struct error *error);

#endif
