/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_KERNEL_GRAPH_QUEUE_H
#define GASPIPE_KERNEL_GRAPH_QUEUE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "kernel/kernel.h"

/*
 * The acceptance queue holds what vats sent; the run queue holds what was routed.
 * `acceptanceQueue` and `runQueue` are [head,tail], and the items NAME.number. Items are
 * JSON with a "type", as in SwingSet's crank-start lines. Messages are
 * {"methargs":capdata,"result":kpid or null}, with krefs.
 */

enum queue_name { QUEUE_ACCEPTANCE, QUEUE_RUN };

int queue_init(struct kernel *kernel, struct error *error);
int queue_add(struct kernel *kernel, enum queue_name queue, const json_t *item,
              struct error *error);

/* Like queue_add(), for an item whose text is known. */
int queue_add_text(struct kernel *kernel, enum queue_name queue, const json_t *item,
                   const struct buf *text, struct error *error);

/* Adds the item in front of the others. */
int queue_put_first(struct kernel *kernel, enum queue_name queue, const json_t *item,
                    struct error *error);

/* Takes the first item, which the caller frees, and appends its text; NULL with 0 if empty. */
int queue_take(struct kernel *kernel, enum queue_name queue, json_t **item, struct buf *text,
               struct error *error);
int queue_length(struct kernel *kernel, enum queue_name queue, int64_t *length,
                 struct error *error);

/* Returns the item at `index`, which stays queued; NULL with 0 if absent. The value is
 * shared: release it, and do not change it. */
int queue_look(struct kernel *kernel, enum queue_name queue, int64_t index, json_t **item,
               struct error *error);

/* Queues a message whose references are counted already, from another queue. */
int queue_send(struct kernel *kernel, const char *target, const json_t *message,
               struct error *error);

/* Queues a new message: counts its target, result and slots. */
int queue_new_send(struct kernel *kernel, const char *target, const json_t *message,
                   struct error *error);

/* Releases the references of a message that leaves the queues. */
int queue_release_send(struct kernel *kernel, const json_t *send, struct error *error);

/* Queues a notification about the promise to the vat, and counts the reference. */
int queue_notify(struct kernel *kernel, int64_t vat, const char *kpid, struct error *error);

/*
 * Vats in quarantine get no deliveries. Their work is held in its order until the operator
 * decides. `kernel.quarantined` lists them; vN.quarantine has the reason; vN.held is
 * [head,tail] of the items vN.held.NUMBER. Without quarantined vats none of these records
 * exists.
 */

int quarantine_is(struct kernel *kernel, int64_t vat, bool *is, struct error *error);

/* Appends the reason; *is as for quarantine_is(). */
int quarantine_reason(struct kernel *kernel, int64_t vat, bool *is, struct buf *reason,
                      struct error *error);

/* Begins a quarantine, or changes its reason. */
int quarantine_begin(struct kernel *kernel, int64_t vat, const char *reason, struct error *error);

/* The quarantined vat that the item is for, or 0. */
int quarantine_vat_of(struct kernel *kernel, const json_t *item, int64_t *vat, struct error *error);

int quarantine_hold(struct kernel *kernel, int64_t vat, const json_t *item, struct error *error);

/* The first item, which the caller frees, or NULL with 0. quarantine_take() also removes it. */
int quarantine_look(struct kernel *kernel, int64_t vat, json_t **item, struct error *error);
int quarantine_take(struct kernel *kernel, int64_t vat, json_t **item, struct error *error);

/* Ends the quarantine, if any: held items go to the front of the run queue. */
int quarantine_release(struct kernel *kernel, int64_t vat, struct error *error);

#endif
