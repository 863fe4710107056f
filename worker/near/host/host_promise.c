/* SPDX-License-Identifier: Apache-2.0 */
/* Promises, and the results of those that the call waited for. */
#include <string.h>

#include "worker/near/host/host_functions.h"
#include "worker/near/host/promises.h"

/* ---- made ---- */

static bool add_promise(struct near_call *call, uint64_t *a, bool is_joint,
                        const uint32_t *receipts, uint32_t count)
{
    const uint64_t limit = call->parameters->max_promises_per_function_call_action;

    if (near_receipts_add_promise(&call->receipts, is_joint, receipts, count) == NULL)
        return near_no_memory(call);
    if (call->receipts.promise_count > limit)
        return near_fail(call,
                         "The number of promises within a FunctionCall %u exceeds the limit %llu",
                         call->receipts.promise_count, (unsigned long long)limit);
    a[0] = call->receipts.promise_count - 1;
    return true;
}

/* Of a receipt to that account that waits for `promise`, NULL: for none. */
static bool pay_receipt(struct near_call *call, const struct wasm_bytes *account,
                        const struct near_promise *promise)
{
    const struct near_fee *receipt = &call->parameters->fee[NEAR_FEE_new_action_receipt];
    const struct near_fee *data = &call->parameters->fee[NEAR_FEE_new_data_receipt_base];
    uint64_t burnt = near_is_own(call, account->data, account->length) ? receipt->send_sir
                                                                       : receipt->send_not_sir;

    for (uint32_t i = 0; promise != NULL && i < promise->receipt_count; i++) {
        const struct buf *from = &call->receipts.receipts[promise->receipts[i]].receiver;
        const bool stays = from->length == account->length &&
                           memcmp(from->data, account->data, account->length) == 0;

        burnt += (stays ? data->send_sir : data->send_not_sir) + data->execution;
    }
    return near_pay_fee(call, NEAR_FEE_new_action_receipt, burnt, receipt->execution);
}

static bool add_receipt(struct near_call *call, uint64_t *a, struct wasm_bytes account,
                        const struct near_promise *promise)
{
    uint32_t number;

    if (!pay_receipt(call, &account, promise))
        return false;
    if (near_receipts_add(&call->receipts, account.data, account.length,
                          promise != NULL ? promise->receipts : NULL,
                          promise != NULL ? promise->receipt_count : 0) == NULL)
        return near_no_memory(call);
    number = call->receipts.count - 1;
    return add_promise(call, a, false, &number, 1);
}

bool near_host_promise_batch_create(struct near_call *call, uint64_t *a)
{
    struct wasm_bytes account;

    return near_pay(call, NEAR_COST_base) && near_not_in_view(call, "promise_batch_create") &&
           near_take_account(call, a[0], a[1], &account) && add_receipt(call, a, account, NULL);
}

bool near_host_promise_batch_then(struct near_call *call, uint64_t *a)
{
    const struct near_promise *promise;
    struct wasm_bytes account;

    if (!near_pay(call, NEAR_COST_base) || !near_not_in_view(call, "promise_batch_then") ||
        !near_take_account(call, a[1], a[2], &account))
        return false;
    promise = near_promise_find(call, a[0]);
    return promise != NULL && add_receipt(call, a, account, promise);
}

/* The function call is the batch's only action; a[0] stays the promise. */
static bool add_call(struct near_call *call, uint64_t *a, const uint64_t *rest)
{
    uint64_t arguments[] = {a[0], rest[0], rest[1], rest[2], rest[3], rest[4], rest[5], 0};

    return near_host_promise_batch_action_function_call(call, arguments);
}

bool near_host_promise_create(struct near_call *call, uint64_t *a)
{
    const uint64_t rest[] = {a[2], a[3], a[4], a[5], a[6], a[7]};

    return near_host_promise_batch_create(call, a) && add_call(call, a, rest);
}

bool near_host_promise_then(struct near_call *call, uint64_t *a)
{
    const uint64_t rest[] = {a[3], a[4], a[5], a[6], a[7], a[8]};

    return near_host_promise_batch_then(call, a) && add_call(call, a, rest);
}

/* ---- joined ---- */

/* There are never many more than NEAR's limit of 128. */
enum { JOINED_MOST = 1024 + 128 };

static bool join(struct near_call *call, struct wasm_bytes indices, uint32_t *joined,
                 uint32_t *count)
{
    const uint64_t limit = call->parameters->max_number_input_data_dependencies;

    *count = 0;
    for (uint32_t at = 0; at < indices.length; at += sizeof(uint64_t)) {
        const struct near_promise *promise;
        uint64_t index;

        memcpy(&index, indices.data + at, sizeof index);
        promise = near_promise_find(call, index);
        if (promise == NULL)
            return false;
        if (*count + promise->receipt_count > limit)
            return near_fail(
                call, "The number of input data dependencies %llu exceeds the limit %llu",
                (unsigned long long)*count + promise->receipt_count, (unsigned long long)limit);
        memcpy(joined + *count, promise->receipts, promise->receipt_count * sizeof *joined);
        *count += promise->receipt_count;
    }
    return true;
}

bool near_host_promise_and(struct near_call *call, uint64_t *a)
{
    uint32_t joined[JOINED_MOST], count;
    struct wasm_bytes indices;
    uint64_t length;

    if (!near_pay(call, NEAR_COST_base) || !near_not_in_view(call, "promise_and") ||
        !near_pay(call, NEAR_COST_promise_and_base))
        return false;
    if (__builtin_mul_overflow(a[1], sizeof(uint64_t), &length))
        return near_fail(call, "Integer overflow.");
    return near_pay_each(call, NEAR_COST_promise_and_per_promise, length) &&
           near_view(call, a[0], length, &indices) && join(call, indices, joined, &count) &&
           add_promise(call, a, true, joined, count);
}

/* ---- given as the call's own result ---- */

bool near_host_promise_return(struct near_call *call, uint64_t *a)
{
    const struct near_promise *promise;

    if (!near_pay(call, NEAR_COST_base) || !near_pay(call, NEAR_COST_promise_return) ||
        !near_not_in_view(call, "promise_return"))
        return false;
    promise = near_promise_find(call, a[0]);
    if (promise == NULL)
        return false;
    if (promise->is_joint)
        return near_fail(call, "Returning joint promise is currently prohibited.");
    call->returned_receipt = promise->receipts[0];
    call->has_result = false;
    return true;
}

/* ---- results ---- */

bool near_host_promise_results_count(struct near_call *call, uint64_t *a)
{
    a[0] = call->context->result_count;
    return near_pay(call, NEAR_COST_base) && near_not_in_view(call, "promise_results_count");
}

bool near_host_promise_result(struct near_call *call, uint64_t *a)
{
    enum { SUCCESSFUL = 1, FAILED = 2 };
    const struct near_promise_result *result;
    const uint64_t id = a[1];

    if (!near_pay(call, NEAR_COST_base) || !near_not_in_view(call, "promise_result"))
        return false;
    if (a[0] >= call->context->result_count)
        return near_fail(call, "Accessed invalid promise result index: %llu",
                         (unsigned long long)a[0]);
    result = &call->context->results[a[0]];
    a[0] = result->is_failed ? FAILED : SUCCESSFUL;
    return result->is_failed ||
           near_register_share(call, id, result->bytes.data, result->bytes.length);
}
