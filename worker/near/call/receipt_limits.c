/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "worker/near/call/call.h"

/* Checks the receipts of a call as nearcore's runtime does, in its words. */

/* Lengths in nearcore's encoding, Borsh: texts and lists begin with their length. */
enum { LIST = 4, HASH = 32, AMOUNT = 16, KIND = 1, GAS = 8, NONCE = 8, ED25519_KEY = 33 };

static bool check_call(struct near_call *call, const struct near_action *action)
{
    const struct near_parameters *limits = call->parameters;

    if (action->method.length > limits->max_length_method_name)
        return near_fail(call,
                         "The length of the method name %zu exceeds the maximum allowed length "
                         "%llu in a FunctionCall action",
                         action->method.length, (unsigned long long)limits->max_length_method_name);
    if (action->arguments.length > limits->max_arguments_length)
        return near_fail(
            call,
            "The length of the arguments %zu exceeds the maximum allowed length %llu in a "
            "FunctionCall action",
            action->arguments.length, (unsigned long long)limits->max_arguments_length);
    return action->gas != 0 ||
           near_fail(call,
                     "The attached amount of gas in a FunctionCall action has to be a positive "
                     "number");
}

/* The names are in `method`, separated by commas; nearcore counts a byte after each. */
static bool check_key(struct near_call *call, const struct near_action *action)
{
    const struct near_parameters *limits = call->parameters;
    const struct buf *names = &action->method;
    const size_t bytes = names->length == 0 ? 0 : names->length + 1;

    if (bytes > limits->max_number_bytes_method_names)
        return near_fail(
            call,
            "The total number of bytes in allowed method names %zu exceeds the maximum allowed "
            "number %llu in a AddKey action",
            bytes, (unsigned long long)limits->max_number_bytes_method_names);
    for (size_t i = 0, length = 0; i < names->length; i++) {
        length = names->data[i] == ',' ? 0 : length + 1;
        if (length > limits->max_length_method_name)
            return near_fail(
                call,
                "The length of some method name %zu exceeds the maximum allowed length %llu in a "
                "AddKey action",
                length, (unsigned long long)limits->max_length_method_name);
    }
    return true;
}

static bool check_actions(struct near_call *call, const struct near_receipt *receipt)
{
    const struct near_parameters *limits = call->parameters;
    uint32_t deployments = 0;

    if (receipt->action_count > limits->max_actions_per_receipt)
        return near_fail(call, "The total number of actions %u exceeds the limit %llu",
                         receipt->action_count,
                         (unsigned long long)limits->max_actions_per_receipt);
    for (uint32_t i = 0; i < receipt->action_count; i++) {
        const struct near_action *action = &receipt->actions[i];
        const bool is_call = action->kind == NEAR_ACTION_FUNCTION_CALL;

        deployments += action->kind == NEAR_ACTION_DEPLOY_CONTRACT;
        if (!(is_call ? check_call(call, action) : check_key(call, action)))
            return false;
    }
    return deployments <= limits->max_deploy_actions_per_receipt ||
           near_fail(call, "The number of deploy actions %u exceeds the limit %llu", deployments,
                     (unsigned long long)limits->max_deploy_actions_per_receipt);
}

static uint64_t action_bytes(const struct near_action *action)
{
    const uint64_t arguments = action->arguments.length;

    switch (action->kind) {
    case NEAR_ACTION_FUNCTION_CALL:
        return KIND + LIST + action->method.length + LIST + arguments + GAS + AMOUNT;
    case NEAR_ACTION_TRANSFER:
        return KIND + AMOUNT;
    case NEAR_ACTION_CREATE_ACCOUNT:
        return KIND;
    case NEAR_ACTION_DEPLOY_CONTRACT:
    case NEAR_ACTION_DELETE_ACCOUNT:
        return KIND + LIST + arguments;
    case NEAR_ACTION_STAKE:
    case NEAR_ACTION_TRANSFER_TO_GAS_KEY:
        return KIND + AMOUNT + arguments;
    case NEAR_ACTION_ADD_FULL_ACCESS_KEY:
    case NEAR_ACTION_ADD_FUNCTION_CALL_KEY:
    case NEAR_ACTION_ADD_GAS_KEY:
        return KIND + arguments + NONCE + KIND + LIST + action->method.length;
    case NEAR_ACTION_DELETE_KEY:
        return KIND + arguments;
    }
    return 0;
}

/* The entries of those that wait for its result. */
static uint64_t receivers_bytes(const struct near_call *call, uint32_t index)
{
    uint64_t bytes = 0;

    for (uint32_t i = index + 1; i < call->receipts.count; i++)
        for (uint32_t k = 0; k < call->receipts.receipts[i].wait_count; k++)
            if (call->receipts.receipts[i].waits_for[k] == index)
                bytes += HASH + LIST + call->receipts.receipts[i].receiver.length;
    return bytes;
}

static uint64_t receipt_bytes(const struct near_call *call, uint32_t index)
{
    const struct near_context *context = call->context;
    const struct near_receipt *receipt = &call->receipts.receipts[index];
    uint64_t bytes = LIST + strlen(context->current_account) + LIST + receipt->receiver.length +
                     HASH + KIND + LIST + strlen(context->signer_account) + ED25519_KEY + AMOUNT;

    bytes += LIST + LIST + (uint64_t)receipt->wait_count * HASH + LIST;
    for (uint32_t i = 0; i < receipt->action_count; i++)
        bytes += action_bytes(&receipt->actions[i]);
    /* Looking for them takes long, so a small receipt goes without. */
    return bytes < call->parameters->max_receipt_size / 2 ? bytes
                                                          : bytes + receivers_bytes(call, index);
}

bool near_check_receipts(struct near_call *call)
{
    const uint64_t limit = call->parameters->max_receipt_size;

    for (uint32_t i = 0; i < call->receipts.count; i++) {
        uint64_t bytes;

        if (!check_actions(call, &call->receipts.receipts[i]))
            return false;
        bytes = receipt_bytes(call, i);
        if (bytes > limit)
            return near_fail(call, "The size of the receipt exceeded the limit: %llu > %llu",
                             (unsigned long long)bytes, (unsigned long long)limit);
    }
    return true;
}
