/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/near/host/promises.h"

#include <string.h>

bool near_is_own(const struct near_call *call, const void *account, size_t length)
{
    const char *own = call->context->current_account;

    return strlen(own) == length && memcmp(own, account, length) == 0;
}

const struct near_promise *near_promise_find(struct near_call *call, uint64_t index)
{
    if (index < call->receipts.promise_count)
        return &call->receipts.promises[index];
    near_fail(call, "%llu does not correspond to existing promises", (unsigned long long)index);
    return NULL;
}

bool near_promise_receipt(struct near_call *call, uint64_t index, struct near_receipt **receipt,
                          bool *own)
{
    const struct near_promise *promise = near_promise_find(call, index);

    if (promise == NULL)
        return false;
    if (promise->is_joint)
        return near_fail(call, "Actions can only be appended to non-joint promise.");
    *receipt = &call->receipts.receipts[promise->receipts[0]];
    *own = near_is_own(call, (*receipt)->receiver.data, (*receipt)->receiver.length);
    return true;
}
