/* SPDX-License-Identifier: Apache-2.0 */
/* Actions, which promises are made of. */
#include <string.h>

#include "worker/near/host/host_functions.h"
#include "worker/near/host/promises.h"

static bool host_action_begin(struct near_call *call, const char *name)
{
    return near_pay(call, NEAR_COST_base) && near_not_in_view(call, name);
}

static bool deduct(struct near_call *call, unsigned __int128 amount)
{
    if (amount > call->balance)
        return near_fail(call, "Exceeded the account balance.");
    call->balance -= amount;
    return true;
}

static bool host_action_add(struct near_call *call, struct near_receipt *receipt,
                            enum near_action_kind kind, struct wasm_bytes bytes,
                            unsigned __int128 amount)
{
    struct near_action *action = near_receipt_add_action(receipt, kind);

    if (action == NULL)
        return near_no_memory(call);
    action->amount = amount;
    return bytes.length == 0 || buf_append(&action->arguments, bytes.data, bytes.length) == 0 ||
           near_no_memory(call);
}

/* ---- function calls ---- */

struct function_call {
    struct wasm_bytes method, arguments;
    unsigned __int128 amount;
    uint64_t gas, weight;
};

static bool add_call(struct near_call *call, struct near_receipt *receipt,
                     const struct function_call *made)
{
    struct near_action *action;

    if (!host_action_add(call, receipt, NEAR_ACTION_FUNCTION_CALL, made->arguments, made->amount))
        return false;
    action = &receipt->actions[receipt->action_count - 1];
    action->gas = made->gas;
    action->weight = made->weight;
    return buf_append(&action->method, made->method.data, made->method.length) == 0 ||
           near_no_memory(call);
}

/* Both actions' texts are read before anything is paid for them. */
static bool take_call(struct near_call *call, const uint64_t *a, struct function_call *made)
{
    if (!near_take_amount(call, a[5], &made->amount) || !near_take(call, a[1], a[2], &made->method))
        return false;
    if (made->method.length == 0)
        return near_fail(call, "Tried to call an empty method name.");
    return near_take(call, a[3], a[4], &made->arguments);
}

static bool function_call(struct near_call *call, const uint64_t *a, uint64_t weight)
{
    struct function_call made = {.gas = a[6], .weight = weight};
    struct near_receipt *receipt;
    bool own;

    return host_action_begin(call, "promise_batch_action_function_call") &&
           take_call(call, a, &made) && near_promise_receipt(call, a[0], &receipt, &own) &&
           near_pay_action(call, NEAR_FEE_function_call_base, 1, own) &&
           near_pay_action(call, NEAR_FEE_function_call_byte,
                           (uint64_t)made.method.length + made.arguments.length, own) &&
           near_pay_fee(call, NEAR_FEE_function_call_base, 0, made.gas) &&
           deduct(call, made.amount) && add_call(call, receipt, &made);
}

bool near_host_promise_batch_action_function_call(struct near_call *call, uint64_t *a)
{
    return function_call(call, a, 0);
}

bool near_host_promise_batch_action_function_call_weight(struct near_call *call, uint64_t *a)
{
    return function_call(call, a, a[7]);
}

/* ---- money ---- */

/* Money for an implicit account, which is named by its key, also makes the account. */
static bool is_implicit(const struct buf *account)
{
    enum { OF_NEAR = 64, OF_ETHEREUM = 42 };
    const bool near = account->length == OF_NEAR;
    const bool ethereum = account->length == OF_ETHEREUM && memcmp(account->data, "0x", 2) == 0;

    if (!near && !ethereum)
        return false;
    for (size_t i = near ? 0 : 2; i < account->length; i++)
        if (strchr("0123456789abcdef", account->data[i]) == NULL)
            return false;
    return true;
}

static bool pay_transfer(struct near_call *call, const struct near_receipt *receipt, bool own)
{
    const struct near_fee *transfer = &call->parameters->fee[NEAR_FEE_transfer];
    const struct near_fee *account = &call->parameters->fee[NEAR_FEE_create_account];
    const struct near_fee *key = &call->parameters->fee[NEAR_FEE_add_full_access_key];
    uint64_t burnt = own ? transfer->send_sir : transfer->send_not_sir;
    uint64_t reserved = transfer->execution;

    if (is_implicit(&receipt->receiver)) {
        const bool has_key = receipt->receiver.length == 64;

        burnt += own ? account->send_sir : account->send_not_sir;
        reserved += account->execution;
        if (has_key) {
            burnt += own ? key->send_sir : key->send_not_sir;
            reserved += key->execution;
        }
    }
    return near_pay_fee(call, NEAR_FEE_transfer, burnt, reserved);
}

bool near_host_promise_batch_action_transfer(struct near_call *call, uint64_t *a)
{
    const struct wasm_bytes nothing = {0};
    struct near_receipt *receipt;
    unsigned __int128 amount;
    bool own;

    return host_action_begin(call, "promise_batch_action_transfer") &&
           near_take_amount(call, a[1], &amount) &&
           near_promise_receipt(call, a[0], &receipt, &own) && pay_transfer(call, receipt, own) &&
           deduct(call, amount) &&
           host_action_add(call, receipt, NEAR_ACTION_TRANSFER, nothing, amount);
}

/* ---- what only a chain can do: it is recorded ---- */

bool near_host_promise_batch_action_create_account(struct near_call *call, uint64_t *a)
{
    const struct wasm_bytes nothing = {0};
    struct near_receipt *receipt;
    bool own;

    return host_action_begin(call, "promise_batch_action_create_account") &&
           near_promise_receipt(call, a[0], &receipt, &own) &&
           near_pay_action(call, NEAR_FEE_create_account, 1, own) &&
           host_action_add(call, receipt, NEAR_ACTION_CREATE_ACCOUNT, nothing, 0);
}

bool near_host_promise_batch_action_deploy_contract(struct near_call *call, uint64_t *a)
{
    const uint64_t limit = call->parameters->max_contract_size;
    struct near_receipt *receipt;
    struct wasm_bytes code;
    bool own;

    if (!host_action_begin(call, "promise_batch_action_deploy_contract") ||
        !near_take(call, a[1], a[2], &code))
        return false;
    if (code.length > limit)
        return near_fail(
            call, "The size of a contract code in DeployContract action %u exceeds the limit %llu",
            code.length, (unsigned long long)limit);
    return near_promise_receipt(call, a[0], &receipt, &own) &&
           near_pay_action(call, NEAR_FEE_deploy_contract_base, 1, own) &&
           near_pay_action(call, NEAR_FEE_deploy_contract_byte, code.length, own) &&
           host_action_add(call, receipt, NEAR_ACTION_DEPLOY_CONTRACT, code, 0);
}

/* Borsh: the kind of the curve, and the key. */
static bool is_key(struct near_call *call, struct wasm_bytes key)
{
    enum { ED25519 = 0, ED25519_SIZE = 1 + 32, SECP256K1 = 1, SECP256K1_SIZE = 1 + 64 };

    return (key.length == ED25519_SIZE && key.data[0] == ED25519) ||
           (key.length == SECP256K1_SIZE && key.data[0] == SECP256K1) ||
           near_fail(call, "VM Logic provided an invalid public key");
}

bool near_host_promise_batch_action_stake(struct near_call *call, uint64_t *a)
{
    struct near_receipt *receipt;
    unsigned __int128 amount;
    struct wasm_bytes key;
    bool own;

    return host_action_begin(call, "promise_batch_action_stake") &&
           near_take_amount(call, a[1], &amount) && near_take(call, a[2], a[3], &key) &&
           near_promise_receipt(call, a[0], &receipt, &own) &&
           near_pay_action(call, NEAR_FEE_stake, 1, own) && is_key(call, key) &&
           host_action_add(call, receipt, NEAR_ACTION_STAKE, key, amount);
}

static bool change_key(struct near_call *call, const uint64_t *a, enum near_fee_kind fee,
                       enum near_action_kind kind)
{
    struct near_receipt *receipt;
    struct wasm_bytes key;
    bool own;

    return near_take(call, a[1], a[2], &key) && near_promise_receipt(call, a[0], &receipt, &own) &&
           near_pay_action(call, fee, 1, own) && is_key(call, key) &&
           host_action_add(call, receipt, kind, key, 0);
}

bool near_host_promise_batch_action_add_key_with_full_access(struct near_call *call, uint64_t *a)
{
    return host_action_begin(call, "promise_batch_action_add_key_with_full_access") &&
           change_key(call, a, NEAR_FEE_add_full_access_key, NEAR_ACTION_ADD_FULL_ACCESS_KEY);
}

bool near_host_promise_batch_action_delete_key(struct near_call *call, uint64_t *a)
{
    return host_action_begin(call, "promise_batch_action_delete_key") &&
           change_key(call, a, NEAR_FEE_delete_key, NEAR_ACTION_DELETE_KEY);
}

/* Names between commas, each with the zero that will end it; none of no bytes. */
static bool count_names(struct near_call *call, struct wasm_bytes names, uint64_t *bytes)
{
    *bytes = names.length == 0 ? 0 : (uint64_t)names.length + 1;
    for (uint32_t i = 0; i < names.length; i++)
        if (names.data[i] == ',' && (i == 0 || i + 1 == names.length || names.data[i - 1] == ','))
            return near_fail(call, "Tried to call an empty method name.");
    return true;
}

bool near_host_promise_batch_action_add_key_with_function_call(struct near_call *call, uint64_t *a)
{
    struct wasm_bytes key, receiver, names;
    struct near_receipt *receipt;
    unsigned __int128 allowance;
    uint64_t bytes;
    bool own;

    return host_action_begin(call, "promise_batch_action_add_key_with_function_call") &&
           near_take(call, a[1], a[2], &key) && near_take_amount(call, a[4], &allowance) &&
           near_take_account(call, a[5], a[6], &receiver) && near_take(call, a[7], a[8], &names) &&
           count_names(call, names, &bytes) && near_promise_receipt(call, a[0], &receipt, &own) &&
           near_pay_action(call, NEAR_FEE_add_function_call_key_base, 1, own) &&
           near_pay_action(call, NEAR_FEE_add_function_call_key_byte, bytes, own) &&
           is_key(call, key) &&
           host_action_add(call, receipt, NEAR_ACTION_ADD_FUNCTION_CALL_KEY, key, allowance);
}

bool near_host_promise_batch_action_delete_account(struct near_call *call, uint64_t *a)
{
    struct wasm_bytes beneficiary;
    struct near_receipt *receipt;
    bool own;

    return host_action_begin(call, "promise_batch_action_delete_account") &&
           near_take_account(call, a[1], a[2], &beneficiary) &&
           near_promise_receipt(call, a[0], &receipt, &own) &&
           near_pay_action(call, NEAR_FEE_delete_account, 1, own) &&
           host_action_add(call, receipt, NEAR_ACTION_DELETE_ACCOUNT, beneficiary, 0);
}
