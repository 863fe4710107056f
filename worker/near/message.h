/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_WORKER_NEAR_MESSAGE_H
#define GASPIPE_WORKER_NEAR_MESSAGE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "worker/near/call/call.h"
#include "worker/near/vat.h"

/* Converts contracts' bytes to JSON, and JSON to smallcaps for other vats. */

/* Reads the plain value of capdata without slots; the caller's, or NULL if it is not plain data. */
json_t *near_value_read(const json_t *capdata);

/* Appends the body of capdata: '#' and the value in smallcaps, in quotes. */
void near_value_write_body(struct buf *buf, json_t *value);

/* Appends a value as bytes: a string as its bytes, {"base64": ..} decoded, null as nothing,
 * anything else as JSON. -1 if it cannot be read. */
int near_value_bytes(struct buf *bytes, const json_t *value);

/* The reverse, without loss: text as a string, other bytes in base64. The caller's; NULL if out
 * of memory. */
json_t *near_value_exact(const void *bytes, size_t length);

/* The value of a message's result: the call's bytes, exact or for the user. NULL, which is
 * undefined, if none are wanted. The caller's. */
json_t *near_value_of_result(const struct buf *bytes, bool is_exact);

/* Bytes in base64, the caller's. */
json_t *near_base64_of(const void *bytes, size_t length);

/* Decodes standard base64. Appends; -1 if invalid or out of memory. */
int near_base64_decode(struct buf *bytes, const char *text, size_t length);

/* A vat message read as a receipt: its steps on the contract, and the world that they see. */

struct near_step {
    bool is_transfer;   /* only `deposit` is set; other steps are function calls */
    const char *method; /* borrowed from the message */
    struct buf input;
    unsigned __int128 deposit;
    uint64_t gas;
};

struct near_message {
    json_t *methargs;        /* owned; texts below point into it */
    const char *result;      /* the result's promise; NULL: none. Borrowed from the delivery */
    struct near_step *steps; /* owned; done in order, all or none */
    size_t step_count;
    bool is_exact;               /* the result's receiver wants the bytes */
    bool ends_vat;               /* it made the account, which ends if it fails */
    bool reports_balance;        /* else it is what the vat keeps */
    struct near_context context; /* all but the vat's own account, what it keeps, and the step's */
    struct near_promise_result *results; /* owned, with their bytes */
    struct buf *result_bytes;
    const char **receivers; /* owned, not the texts */
};

/*
 * Reads a delivery: ["message", "o+0", {methargs, result}]. The method has up to two
 * arguments, the input and the call's world (docs/wasm.md). -1 with ERROR_INPUT. Free the
 * message in either case.
 */
int near_message_read(struct near_message *message, const json_t *delivery, struct error *error);
void near_message_free(struct near_message *message);

/* Reads a decimal number of up to 38 digits, from a string or a JSON number. */
bool near_amount_read(const json_t *value, unsigned __int128 *amount);

/* As users write them: a number, or a string such as "12", "1.5 NEAR" or "10 Tgas". */
bool near_money_read(const json_t *value, unsigned __int128 *amount);
bool near_gas_read(const json_t *value, uint64_t *number);

/* Writes the number as a decimal string. */
enum { NEAR_AMOUNT_SIZE = 40 };
const char *near_amount_text(unsigned __int128 amount, char text[NEAR_AMOUNT_SIZE]);

/* Returns the default world, without an account or a predecessor. */
struct near_context near_message_context(void);

/*
 * The outbox sends a contract's receipts through the kernel. A receipt is sent as a message
 * when all results that it waits for have come; then its waiting receipts get its result.
 * The records are in the vatstore, so another worker can continue:
 *
 *     "near.next"  the number of the next receipt
 *     "near.r.N"   receipt N, JSON, until it is settled and no receipt waits for it:
 *       "send"     the message, until it is sent: {"to", "methargs", "receivers"}; with "create"
 *                  if the account must be new, and "deploy", a module in base64
 *       "wait"     the number of missing results; "results": those that have come
 *       "then"     [[N, i], ..]: it is result i of receipt N
 *       "resolve"  [PROMISE, is_exact]: the delivery's message has its result
 *       "refund"   yoctoNEAR that return if it fails, to "refundTo" or else the vat
 *
 * A yielded promise is a receipt that misses one result, which the contract gives by its name, or
 * the passing of blocks. `yields` has {NAME: [N, the block in which it fails]}.
 *
 * A sent receipt is the promise p+N.
 */
struct near_outbox {
    struct near_vat *vat;
    const char *accounts;       /* the device that finds accounts; NULL if absent */
    const char *account;        /* the vat's own */
    const char *protocol;       /* of contracts that it deploys */
    unsigned __int128 *balance; /* where refunds go */
    json_t *yields;             /* changed when a call yields or resumes */
    uint64_t *yielded;          /* promises that NEAR named so far */
};

/* Takes the receipts of a successful call. `returned`: the receipt whose result becomes the
 * message's, or NEAR_NO_RECEIPT. */
void near_outbox_take(struct near_outbox *outbox, const struct near_receipts *receipts,
                      const struct near_message *message, uint32_t returned);

/* Fails yielded promises that no call resumed before this block. */
void near_outbox_expire(struct near_outbox *outbox, uint64_t block_height);

/* Handles the kernel's notification ["p+N", is_rejected, capdata] for a sent receipt. */
void near_outbox_settled(struct near_outbox *outbox, const json_t *resolution);

/* Resolves a message's promise, also if this vat sent the message. */
void near_outbox_resolve(struct near_outbox *outbox, const struct near_message *message,
                         const struct buf *result);

#endif
