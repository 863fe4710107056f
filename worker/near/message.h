/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_WORKER_NEAR_MESSAGE_H
#define GASPIPE_WORKER_NEAR_MESSAGE_H

#include <jansson.h>

#include "worker/near/call.h"

/* A vat message, as a call of a contract. */
struct near_message {
    json_t *methargs; /* owned; what follows points into it, or is owned where it says so */
    const char *method;
    const char *result; /* where the result goes; NULL: nobody wants it */
    struct buf input;   /* owned */
    struct near_context context;
};

/*
 * Reads a delivery: ["message", "o+0", {methargs, result}], the method with up to two
 * arguments, of which the first is the input and the second says what the call is told of the
 * world. -1 with ERROR_INPUT. Free it in either case.
 */
int near_message_read(struct near_message *message, const json_t *delivery, struct error *error);
void near_message_free(struct near_message *message);

/*
 * Appends the syscall that resolves `promise` with a call's result: JSON as what it says, other
 * text as a string, other bytes in base64; nothing as undefined.
 */
void near_message_resolve(struct buf *buf, const char *promise, const struct buf *result);

/* Base64 of OpenSSL's kind. Appends; -1 when it is none, or without memory. */
int near_base64_decode(struct buf *bytes, const char *text, size_t length);

#endif
