/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_WORKER_NEAR_MESSAGE_H
#define GASPIPE_WORKER_NEAR_MESSAGE_H

#include <jansson.h>

#include "worker/near/call/call.h"

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

#endif
