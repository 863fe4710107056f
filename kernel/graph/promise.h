/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_KERNEL_GRAPH_PROMISE_H
#define GASPIPE_KERNEL_GRAPH_PROMISE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "kernel/kernel.h"
#include "kernel/records/reference.h"

/*
 * Promises are kpN.state, .refCount, .decider, .subscribers and .queue.N while unresolved,
 * and .data.body and .data.slots afterwards. A vat decides an unresolved promise, or the
 * kernel (decider 0) while a message with this result promise is queued.
 */

/* Adds a promise that the vat decides (0: the kernel). `policy` is NULL or "logFailure". */
int promise_add(struct kernel *kernel, int64_t decider, const char *policy,
                char kpid[KERNEL_REF_SIZE], struct error *error);
int promise_exists(struct kernel *kernel, const char *kpid, bool *exists, struct error *error);
int promise_delete(struct kernel *kernel, const char *kpid, struct error *error);

int promise_state(struct kernel *kernel, const char *kpid, enum kernel_promise *state,
                  struct error *error);

/* Returns a settled promise's capdata with krefs, the caller's. */
int promise_data(struct kernel *kernel, const char *kpid, json_t **data, struct error *error);

/* The same as JSON, appended; and only its slots, the caller's, NULL if it has none. */
int promise_data_text(struct kernel *kernel, const char *kpid, struct buf *data,
                      struct error *error);
int promise_slots(struct kernel *kernel, const char *kpid, json_t **slots, struct error *error);

/* Makes the vat the decider; 0: the kernel. */
int promise_set_decider(struct kernel *kernel, const char *kpid, int64_t vat, struct error *error);

/* Returns true in *is if it is unresolved and the vat (0: the kernel) decides it. */
int promise_is_decided_by(struct kernel *kernel, const char *kpid, int64_t vat, bool *is,
                          struct error *error);

/* For unresolved promises only. */
int promise_add_message(struct kernel *kernel, const char *kpid, const json_t *message,
                        struct error *error);
int promise_subscribed(struct kernel *kernel, const char *kpid, int64_t vat, bool *subscribed,
                       struct error *error);

/* Queues a notification when the promise settles, or now if it has. */
int promise_subscribe(struct kernel *kernel, const char *kpid, int64_t vat, struct error *error);

/*
 * Settles an unresolved one: queues notify for all who subscribed and then the
 * messages that waited for it. Counts what the data holds.
 */
int promise_resolve(struct kernel *kernel, const char *kpid, bool rejected, const json_t *data,
                    struct error *error);

/* The same, rejected with an Error of these words. */
int promise_reject(struct kernel *kernel, const char *kpid, const char *words, struct error *error);

/* Adds the promise and all settled promises that its data lead to, in the order of discovery:
 * one notification reports them together. */
int promise_settled_together(struct kernel *kernel, const char *kpid, struct reference_set *kpids,
                             struct error *error);

/* How many messages wait for promises; reads all records of promises. */
int promise_count_waiting(struct kernel *kernel, int64_t *count, struct error *error);

/* The promises that the vat decides, in the order of its c-list; the caller frees. */
int promise_all_decided_by(struct kernel *kernel, int64_t vat, struct reference_set *kpids,
                           struct error *error);

/* The destination of a message. */

enum route {
    ROUTE_VAT,     /* to an object of a vat that lives */
    ROUTE_PROMISE, /* it waits for the promise */
    ROUTE_NOWHERE, /* its result was rejected */
};

struct routed {
    enum route route;
    int64_t vat;
    char target[KERNEL_REF_SIZE]; /* the object where the target was a promise for it */
};

/* `send` is a queue's item. No count changes. */
int route_send(struct kernel *kernel, const json_t *send, struct routed *routed,
               struct error *error);

#endif
