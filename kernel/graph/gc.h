/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_KERNEL_GRAPH_GC_H
#define GASPIPE_KERNEL_GRAPH_GC_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "kernel/kernel.h"

/*
 * Garbage actions wait in `gcActions`, a sorted JSON array of "vN dropExport koN", "vN
 * retireExport koN", "vN retireImport koN". They are decided at the end of a crank and
 * delivered before any other work. Each is checked again then, because the object may be in
 * use or deleted.
 */

enum gc_action { GC_DROP_EXPORT, GC_RETIRE_EXPORT, GC_RETIRE_IMPORT };

/*
 * Takes the next group of actions, as an item of the run queue that the caller frees:
 * {"type":"dropExports","vatID":"vN","krefs":[...]}, or {"type":"negated-gc-action"} if none
 * of its actions still applies. NULL if none is queued.
 */
int gc_action_next(struct kernel *kernel, json_t **item, struct error *error);

/* Returns the vatIDs of all queued actions, one for each action; the caller frees the array. */
int gc_action_vats(struct kernel *kernel, json_t **vat_ids, struct error *error);

/* How objects end: abandoned by their vat, or retired. */

/* Removes the vat as owner, and its c-list entry. ERROR_INPUT if another vat owns the object. */
int retire_abandon(struct kernel *kernel, const char *koid, int64_t vat, struct error *error);

/* Deletes objects (an array of krefs), and queues retireImport for every vat that imports them. */
int retire_objects(struct kernel *kernel, const json_t *koids, struct error *error);

/*
 * Collects at the end of a crank, among the references that the crank released. Promises
 * without references are deleted. Objects that no vat reaches or recognizes become garbage
 * actions for their owners.
 */
int collect_unreferenced(struct kernel *kernel, struct error *error);

/*
 * Schedules bringOutYourDead: `reapQueue` is a JSON array of vatIDs. vN.reapDirt
 * {"deliveries":N,"gcKrefs":N} counts the vat's use since its last one, against
 * kernel.defaultReapDirtThreshold and the vat's own option.
 */

/* SwingSet's options reapInterval, reapGCKrefs and neverReap as a vat's reapDirtThreshold, the
 * caller's; NULL if out of memory. `options` may be NULL. */
json_t *reap_threshold(const json_t *options);

int reap_init(struct kernel *kernel, const struct kernel_options *options, struct error *error);
int reap_schedule(struct kernel *kernel, int64_t vat, struct error *error);

/* Takes {"type":"bringOutYourDead","vatID":"vN"}, which the caller frees; NULL if none is due. */
int reap_next(struct kernel *kernel, json_t **item, struct error *error);

/* Like reap_next(), for the item at `index`, which stays queued. */
int reap_look(struct kernel *kernel, int64_t index, json_t **item, struct error *error);

/* Counts one delivery, and the references that it named. */
int reap_add_dirt(struct kernel *kernel, int64_t vat, int64_t gc_references, struct error *error);
int reap_clear_dirt(struct kernel *kernel, int64_t vat, struct error *error);

#endif
