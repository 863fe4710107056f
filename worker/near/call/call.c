/* SPDX-License-Identifier: Apache-2.0 */
/* A call's beginning and its end. */
#include <stdlib.h>

#include "worker/near/call/call.h"

void near_call_begin(struct near_call *call, const struct near_context *context,
                     const struct near_storage *storage)
{
    const struct near_parameters *parameters = call->parameters;

    near_call_free(call);
    *call = (struct near_call){
        .parameters = parameters,
        .context = context,
        .storage = storage,
        .machine = call->machine,
        .instance = call->instance,
        .storage_usage = context->storage_usage,
        .balance = context->balance + context->deposit,
        .burnt_limit =
            context->is_view ? parameters->max_gas_burnt_view : parameters->max_gas_burnt,
        /* Who only looks has not paid. */
        .prepaid_gas = context->is_view ? UINT64_MAX : context->prepaid_gas,
        .returned_receipt = NEAR_NO_RECEIPT,
    };
    call->gas_limit = call->prepaid_gas < call->burnt_limit ? call->prepaid_gas : call->burnt_limit;
    wasm_machine_begin(call->machine, 0);
    near_grant(call);
}

void near_call_free(struct near_call *call)
{
    for (uint32_t i = 0; i < call->register_count; i++)
        buf_free(&call->registers[i].bytes);
    free(call->registers);
    call->registers = NULL;
    call->register_count = 0;
    near_receipts_free(&call->receipts);
    buf_free(&call->old_value);
    buf_free(&call->result);
}
