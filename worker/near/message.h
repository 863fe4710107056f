/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_WORKER_NEAR_MESSAGE_H
#define GASPIPE_WORKER_NEAR_MESSAGE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "worker/near/call/call.h"
#include "worker/near/vat.h"

/* Bytes of contracts as JSON, and JSON as smallcaps, which is what vats send each other. */

/* The plain value that capdata without slots holds, the caller's; NULL for what is no plain data.
 */
json_t *near_value_read(const json_t *capdata);

/* Appends the body of capdata: '#' and the value in smallcaps, in quotes. */
void near_value_write_body(struct buf *buf, json_t *value);

/* A value as bytes, appended: a string as its bytes, {"base64": ..} as any bytes, null as none,
 * anything else as its JSON. -1 when it cannot be read. */
int near_value_bytes(struct buf *bytes, const json_t *value);

/* The other way, so that the same bytes come back: text as a string, other bytes in base64. The
 * caller's; NULL without memory. */
json_t *near_value_exact(const void *bytes, size_t length);

/* Bytes as people want to see them: JSON as what it says, other text as a string, other bytes in
 * base64, as a string. */
json_t *near_value_shown(const void *bytes, size_t length);

/* What a message's result is resolved with: a call's bytes, exactly or as people want to see them;
 * NULL, which is undefined, for none that are to be seen. The caller's. */
json_t *near_value_of_result(const struct buf *bytes, bool is_exact);

/* Base64 of OpenSSL's kind. Appends; -1 when it is none, or without memory. */
int near_base64_decode(struct buf *bytes, const char *text, size_t length);

/* A vat message, as a receipt: what is done to a contract, with what it is told of the world. */

struct near_step {
    bool is_transfer;   /* only of the deposit; the others are of a function call */
    const char *method; /* borrowed from the message */
    struct buf input;
    unsigned __int128 deposit;
    uint64_t gas;
};

struct near_message {
    json_t *methargs;        /* owned; texts below point into it */
    const char *result;      /* where the result goes; NULL: nobody wants it. The delivery's */
    struct near_step *steps; /* owned; done in order, all or none */
    size_t step_count;
    bool is_exact;               /* whoever waits for the result wants its bytes */
    bool tells_balance;          /* else it is what the vat keeps */
    struct near_context context; /* all but the vat's own account, what it keeps, and the step's */
    struct near_promise_result *results; /* owned, with the bytes behind them */
    struct buf *result_bytes;
    const char **receivers; /* owned, not the texts */
};

/*
 * Reads a delivery: ["message", "o+0", {methargs, result}], the method with up to two
 * arguments, of which the first is the input and the second says what the call is told of the
 * world (docs/wasm.md). -1 with ERROR_INPUT. Free it in either case.
 */
int near_message_read(struct near_message *message, const json_t *delivery, struct error *error);
void near_message_free(struct near_message *message);

/* A decimal number of up to 38 digits, as a string or a JSON number. */
bool near_amount_read(const json_t *value, unsigned __int128 *amount);

/* The same number as a decimal string. */
enum { NEAR_AMOUNT_SIZE = 40 };
const char *near_amount_text(unsigned __int128 amount, char text[NEAR_AMOUNT_SIZE]);

/* What a call is told where nothing else is said; without an account or a predecessor. */
struct near_context near_message_context(void);

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
