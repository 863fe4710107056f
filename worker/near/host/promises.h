/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_WORKER_NEAR_HOST_PROMISES_H
#define GASPIPE_WORKER_NEAR_HOST_PROMISES_H

#include "worker/near/call/call.h"

/*
 * The receipt of a promise, for an action to be added, until the next receipt is made; *own:
 * it goes to the contract's own account. False, with the error, for one that has none.
 */
bool near_promise_receipt(struct near_call *call, uint64_t index, struct near_receipt **receipt,
                          bool *own);

#endif
