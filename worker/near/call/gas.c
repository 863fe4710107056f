/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stdio.h>

#include "worker/near/call/call.h"

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

bool near_not_in_view(struct near_call *call, const char *name)
{
    return !call->context->is_view || near_fail(call, "%s is not allowed in view calls", name);
}

bool near_no_memory(struct near_call *call)
{
    call->is_lost = true;
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
        return call->exhausted_burnt;
    return call->host_gas + near_operations(call) * call->parameters->wasm_regular_op_cost;
}

uint64_t near_used(const struct near_call *call)
{
    return near_burnt(call) + call->promises_gas;
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

/* What was asked for is burnt as far as there is any, also at the cost of promises. */
static bool exhaust(struct near_call *call, uint64_t burnt, uint64_t used)
{
    const uint64_t most =
        call->burnt_limit < call->prepaid_gas ? call->burnt_limit : call->prepaid_gas;
    const uint64_t used_most = used < call->prepaid_gas ? used : call->prepaid_gas;

    call->exhausted_burnt = burnt < most ? burnt : most;
    call->is_out_of_gas = true;
    call->promises_gas = used_most > call->exhausted_burnt ? used_most - call->exhausted_burnt : 0;
    return near_fail(call, burnt > call->burnt_limit
                               ? "Exceeded the maximum amount of gas allowed to burn per contract."
                               : "Exceeded the prepaid gas.");
}

void near_exhaust(struct near_call *call)
{
    const uint64_t burnt = call->gas_limit;

    /* An operation more than there was gas for. */
    (void)exhaust(call, burnt == call->burnt_limit ? burnt + 1 : burnt, burnt + call->promises_gas);
}

static bool burn(struct near_call *call, uint64_t gas, uint64_t *profile)
{
    const uint64_t before = near_burnt(call);
    uint64_t sum;

    if (__builtin_add_overflow(before, gas, &sum))
        return near_fail(call, "Integer overflow.");
    if (sum > call->gas_limit) {
        exhaust(call, sum, sum + call->promises_gas);
        *profile += call->exhausted_burnt > before ? call->exhausted_burnt - before : 0;
        return false;
    }
    call->host_gas += gas;
    *profile += gas;
    near_grant(call);
    return true;
}

bool near_pay(struct near_call *call, enum near_cost cost)
{
    return burn(call, call->parameters->cost[cost], &call->profile.cost[cost]);
}

bool near_pay_each(struct near_call *call, enum near_cost cost, uint64_t count)
{
    uint64_t product;

    if (__builtin_mul_overflow(call->parameters->cost[cost], count, &product))
        return near_fail(call, "Integer overflow.");
    return burn(call, product, &call->profile.cost[cost]);
}

bool near_pay_fee(struct near_call *call, enum near_fee_kind fee, uint64_t burnt, uint64_t reserved)
{
    const uint64_t before = near_burnt(call);
    uint64_t promises, sum, used;

    if (__builtin_add_overflow(call->promises_gas, reserved, &promises) ||
        __builtin_add_overflow(before, burnt, &sum) || __builtin_add_overflow(sum, promises, &used))
        return near_fail(call, "Integer overflow.");
    if (sum > call->burnt_limit || used > call->prepaid_gas) {
        exhaust(call, sum, used);
        call->profile.fee[fee] +=
            call->exhausted_burnt > before ? call->exhausted_burnt - before : 0;
        return false;
    }
    call->promises_gas = promises;
    if (call->prepaid_gas - promises < call->gas_limit)
        call->gas_limit = call->prepaid_gas - promises;
    call->host_gas += burnt;
    call->profile.fee[fee] += burnt;
    near_grant(call);
    return true;
}

bool near_pay_action(struct near_call *call, enum near_fee_kind fee, uint64_t count, bool is_own)
{
    const struct near_fee *fees = &call->parameters->fee[fee];
    uint64_t burnt, reserved;

    if (__builtin_mul_overflow(is_own ? fees->send_sir : fees->send_not_sir, count, &burnt) ||
        __builtin_mul_overflow(fees->execution, count, &reserved))
        return near_fail(call, "Integer overflow.");
    return near_pay_fee(call, fee, burnt, reserved);
}
