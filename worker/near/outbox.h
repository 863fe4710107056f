/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_WORKER_NEAR_OUTBOX_H
#define GASPIPE_WORKER_NEAR_OUTBOX_H

#include <jansson.h>

#include "worker/near/message.h"
#include "worker/near/vat.h"

/*
 * The receipts that a contract made, on their way through the kernel: each is sent as a message
 * when all that it waits for is settled, and what waits for it is told. All of it is in the vat's
 * store, so that it goes on in another worker:
 *
 *   "near.next"   the number of the next receipt
 *   "near.r.N"    receipt N, JSON, until it is settled and nobody waits for it
 *     "send"      the message, until it is sent: {"to", "methargs", "receivers"}
 *     "wait"      how many results are missing; "results": those that have come
 *     "then"      [[N, i], ..]: it is result i of receipt N
 *     "resolve"   [PROMISE, is_exact]: and that of the delivery's message
 *     "refund"    yoctoNEAR that come back when it fails
 *
 * A receipt that has been sent is the promise p+N.
 */
struct near_outbox {
    struct near_vat *vat;
    const char *accounts;       /* the device that knows accounts; NULL: there is none */
    const char *account;        /* the vat's own */
    unsigned __int128 *balance; /* where refunds go */
};

/*
 * Takes the receipts of a call that went well. `returned`: the one whose result becomes that of
 * the message, or NEAR_NO_RECEIPT.
 */
void near_outbox_take(struct near_outbox *outbox, const struct near_receipts *receipts,
                      const struct near_message *message, uint32_t returned);

/* A promise of ours is settled, as the kernel tells: ["p+N", is_rejected, capdata]. */
void near_outbox_settled(struct near_outbox *outbox, const json_t *resolution);

/* Resolves a message's promise with a result, also where that message was sent by this vat. */
void near_outbox_resolve(struct near_outbox *outbox, const struct near_message *message,
                         const struct buf *result);

#endif
