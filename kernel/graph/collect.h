/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_KERNEL_GRAPH_COLLECT_H
#define GASPIPE_KERNEL_GRAPH_COLLECT_H

#include <jansson.h>
#include <stdint.h>

#include "base/error.h"
#include "kernel/kernel.h"

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
