/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_WORKER_NEAR_HOST_PROMISES_H
#define GASPIPE_WORKER_NEAR_HOST_PROMISES_H

#include "worker/near/call/call.h"

/* Whether that is the contract's own account. */
bool near_is_own(const struct near_call *call, const void *account, size_t length);

/* NULL, with the error: there is none of that number. */
const struct near_promise *near_promise_find(struct near_call *call, uint64_t index);

/*
 * The receipt of a promise, for an action to be added, until the next receipt is made; *own:
 * it goes to the contract's own account. False, with the error, for one that has none.
 */
bool near_promise_receipt(struct near_call *call, uint64_t index, struct near_receipt **receipt,
                          bool *own);

#endif
