/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_WORKER_NEAR_CALL_RECEIPT_H
#define GASPIPE_WORKER_NEAR_CALL_RECEIPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* Receipts: what a call asks other accounts, or its own, to do once it has ended. */

enum near_action_kind {
    NEAR_ACTION_FUNCTION_CALL, /* method, arguments, amount, gas, weight */
    NEAR_ACTION_TRANSFER,      /* amount */
    NEAR_ACTION_CREATE_ACCOUNT,
    NEAR_ACTION_DEPLOY_CONTRACT, /* arguments: the code */
    NEAR_ACTION_STAKE,           /* amount; arguments: the public key, as in all of these */
    NEAR_ACTION_ADD_FULL_ACCESS_KEY,
    NEAR_ACTION_ADD_FUNCTION_CALL_KEY,
    NEAR_ACTION_DELETE_KEY,
    NEAR_ACTION_DELETE_ACCOUNT, /* arguments: the beneficiary */
};

struct near_action {
    enum near_action_kind kind;
    struct buf method, arguments;
    unsigned __int128 amount; /* yoctoNEAR */
    uint64_t gas;
    uint64_t weight; /* of its share in the gas that the call leaves */
};

struct near_receipt {
    struct buf receiver;
    struct near_action *actions;
    uint32_t action_count;
    uint32_t *waits_for; /* earlier receipts, whose results it is told */
    uint32_t wait_count;
};

/* A promise is a receipt, or stands for several that are waited for together. */
struct near_promise {
    bool is_joint;
    uint32_t *receipts;
    uint32_t receipt_count;
};

/* All that a call created, in order. All zeros: nothing. */
struct near_receipts {
    struct near_receipt *receipts;
    uint32_t count;
    struct near_promise *promises;
    uint32_t promise_count;
};

/* Each copies what it is given; NULL when there is no memory. The next call of the same function
 * moves what it returned. */
struct near_receipt *near_receipts_add(struct near_receipts *receipts, const void *receiver,
                                       size_t length, const uint32_t *waits_for,
                                       uint32_t wait_count);
struct near_promise *near_receipts_add_promise(struct near_receipts *receipts, bool is_joint,
                                               const uint32_t *members, uint32_t count);
struct near_action *near_receipt_add_action(struct near_receipt *receipt,
                                            enum near_action_kind kind);

/*
 * Gives what gas is left to the function calls that have a weight, in proportion; what does not
 * divide goes to the last of them. False when none has a weight.
 */
bool near_receipts_distribute(struct near_receipts *receipts, uint64_t gas);

/* As at first. */
void near_receipts_free(struct near_receipts *receipts);

/* Whether these bytes are a valid name of an account on NEAR. */
bool near_is_account(const void *bytes, size_t length);

#endif
