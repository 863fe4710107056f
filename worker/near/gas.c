/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stdio.h>

#include "worker/near/call.h"

bool near_fail(struct near_call *call, const char *format, ...)
{
    va_list arguments;

    if (call->error[0] != '\0')
        return false;
    va_start(arguments, format);
    (void)vsnprintf(call->error, sizeof call->error, format, arguments);
    va_end(arguments);
    return false;
}

uint64_t near_operations(const struct near_call *call)
{
    const int64_t left = call->machine->left > 0 ? call->machine->left : 0;

    return (uint64_t)(call->granted - left);
}

uint64_t near_burnt(const struct near_call *call)
{
    if (call->is_out_of_gas)
        return call->gas_limit;
    return call->host_gas + near_operations(call) * call->parameters->wasm_regular_op_cost;
}

void near_grant(struct near_call *call)
{
    const int64_t spent = (int64_t)near_operations(call);
    const uint64_t limit = call->context->operation_limit;
    uint64_t most = (call->gas_limit - call->host_gas) / call->parameters->wasm_regular_op_cost;

    if (limit != 0 && limit < most)
        most = limit;
    call->granted = (int64_t)most;
    call->machine->left = (int64_t)most - spent;
}

bool near_pay(struct near_call *call, uint64_t gas)
{
    const uint64_t burnt = near_burnt(call);
    uint64_t sum;

    if (__builtin_add_overflow(burnt, gas, &sum))
        return near_fail(call, "Integer overflow.");
    if (sum > call->gas_limit) {
        call->is_out_of_gas = true;
        return near_fail(call, sum > call->parameters->max_gas_burnt
                                   ? "Exceeded the maximum amount of gas allowed to burn per "
                                     "contract."
                                   : "Exceeded the prepaid gas.");
    }
    call->host_gas += gas;
    near_grant(call);
    return true;
}

bool near_pay_each(struct near_call *call, uint64_t gas, uint64_t count)
{
    uint64_t product;

    if (__builtin_mul_overflow(gas, count, &product))
        return near_fail(call, "Integer overflow.");
    return near_pay(call, product);
}
