/* SPDX-License-Identifier: Apache-2.0 */
#include <openssl/evp.h>
#include <string.h>

#include "base/number.h"
#include "worker/near/call/call.h"
#include "worker/near/host/host.h"

/* Returns true if it is the contract's own account. */
static bool near_is_own(const struct near_call *call, const void *account, size_t length)
{
    const char *own = call->context->current_account;

    return strlen(own) == length && memcmp(own, account, length) == 0;
}

/* Finds a promise; NULL with the error if the number is unknown. */
static const struct near_promise *near_promise_find(struct near_call *call, uint64_t index)
{
    if (index < call->receipts.promise_count)
        return &call->receipts.promises[index];
    near_fail(call, "%llu does not correspond to existing promises", (unsigned long long)index);
    return NULL;
}

/* Finds the receipt to which an action is added; valid until the next receipt is made. *own: it
 * goes to the contract's own account. False, with the error, for a joint promise. */
static bool near_promise_receipt(struct near_call *call, uint64_t index,
                                 struct near_receipt **receipt, bool *own)
{
    const struct near_promise *promise = near_promise_find(call, index);

    if (promise == NULL)
        return false;
    if (promise->is_joint) {
        near_fail(call, "Actions can only be appended to non-joint promise.");
        return false;
    }
    *receipt = &call->receipts.receipts[promise->receipts[0]];
    *own = near_is_own(call, (*receipt)->receiver.data, (*receipt)->receiver.length);
    return true;
}

/* ---- promises ---- */

/* Promises, and the results that the call waited for. */

/* ---- creating promises ---- */

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

/* Pays for a receipt to the account, which waits for `promise`; NULL: for none. */
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

/* Adds a function call as the batch's only action; a[0] stays the promise. */
static bool add_only_call(struct near_call *call, uint64_t *a, const uint64_t *rest)
{
    uint64_t arguments[] = {a[0], rest[0], rest[1], rest[2], rest[3], rest[4], rest[5], 0};

    return near_host_promise_batch_action_function_call(call, arguments);
}

bool near_host_promise_create(struct near_call *call, uint64_t *a)
{
    const uint64_t rest[] = {a[2], a[3], a[4], a[5], a[6], a[7]};

    return near_host_promise_batch_create(call, a) && add_only_call(call, a, rest);
}

bool near_host_promise_then(struct near_call *call, uint64_t *a)
{
    const uint64_t rest[] = {a[3], a[4], a[5], a[6], a[7], a[8]};

    return near_host_promise_batch_then(call, a) && add_only_call(call, a, rest);
}

/* ---- joining promises ---- */

/* Slightly above NEAR's limit of 128 promises. */
enum { JOINED_MOST = 1024 + 128 };

static bool join_promises(struct near_call *call, struct wasm_bytes indices, uint32_t *joined,
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
           near_view(call, a[0], length, &indices) &&
           join_promises(call, indices, joined, &count) &&
           add_promise(call, a, true, joined, count);
}

/* ---- returning a promise ---- */

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

bool near_host_promise_set_refund_to(struct near_call *call, uint64_t *a)
{
    const struct near_promise *promise;
    struct wasm_bytes account;
    struct buf *kept;

    if (!near_pay(call, NEAR_COST_base) || !near_not_in_view(call, "promise_set_refund_to") ||
        !near_take_account(call, a[1], a[2], &account))
        return false;
    promise = near_promise_find(call, a[0]);
    if (promise == NULL)
        return false;
    if (promise->is_joint)
        return near_fail(call, "Setting refund_to on a joint promise is prohibited.");
    kept = &call->receipts.receipts[promise->receipts[0]].refund_to;
    buf_clear(kept);
    return buf_append(kept, account.data, account.length) == 0 || near_no_memory(call);
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

/* ---- actions ---- */

/* Actions of promises. */

static bool host_action_begin(struct near_call *call, const char *name)
{
    return near_pay(call, NEAR_COST_base) && near_not_in_view(call, name);
}

static bool deduct_from_balance(struct near_call *call, unsigned __int128 amount)
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

static bool add_call_action(struct near_call *call, struct near_receipt *receipt,
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

/* Reads both actions' texts before paying for them. */
static bool take_call(struct near_call *call, const uint64_t *a, struct function_call *made)
{
    if (!near_take_amount(call, a[5], &made->amount) || !near_take(call, a[1], a[2], &made->method))
        return false;
    if (made->method.length == 0)
        return near_fail(call, "Tried to call an empty method name.");
    return near_take(call, a[3], a[4], &made->arguments);
}

/* Newer versions give one yoctoNEAR to a contract that has none. */
static bool deduct_deposit(struct near_call *call, unsigned __int128 amount)
{
    const bool is_given =
        call->parameters->one_yocto_on_promise != 0 && amount == 1 && call->balance == 0;

    return is_given || deduct_from_balance(call, amount);
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
           deduct_deposit(call, made.amount) && add_call_action(call, receipt, &made);
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

/* A transfer to an implicit account, named by its key, also creates the account. */
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
           deduct_from_balance(call, amount) &&
           host_action_add(call, receipt, NEAR_ACTION_TRANSFER, nothing, amount);
}

/* ---- actions that need a chain: recorded only ---- */

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

/* Borsh encoding: the curve's kind, and the key. */
enum {
    ED25519 = 0,
    SECP256K1 = 1,
    ML_DSA_65 = 2,
    ED25519_SIZE = 1 + 32,
    SECP256K1_SIZE = 1 + 64,
    ML_DSA_65_SIZE = 1 + 1952
};

static bool is_ml_dsa_key(const struct near_call *call, struct wasm_bytes key)
{
    return call->parameters->ml_dsa_65_verification_cost != 0 && key.length == ML_DSA_65_SIZE &&
           key.data[0] == ML_DSA_65;
}

static bool is_key(struct near_call *call, struct wasm_bytes key)
{
    return (key.length == ED25519_SIZE && key.data[0] == ED25519) ||
           (key.length == SECP256K1_SIZE && key.data[0] == SECP256K1) || is_ml_dsa_key(call, key) ||
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

/* Counts names between commas, each with its terminating zero; no bytes mean no names. */
static bool count_names(struct near_call *call, struct wasm_bytes names, uint64_t *bytes)
{
    *bytes = names.length == 0 ? 0 : (uint64_t)names.length + 1;
    for (uint32_t i = 0; i < names.length; i++)
        if (names.data[i] == ',' && (i == 0 || i + 1 == names.length || names.data[i - 1] == ','))
            return near_fail(call, "Tried to call an empty method name.");
    return true;
}

/* The names go to the action added last. */
static bool add_names(struct near_call *call, const struct near_receipt *receipt,
                      struct wasm_bytes names)
{
    struct buf *kept = &receipt->actions[receipt->action_count - 1].method;

    return names.length == 0 || buf_append(kept, names.data, names.length) == 0 ||
           near_no_memory(call);
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
           host_action_add(call, receipt, NEAR_ACTION_ADD_FUNCTION_CALL_KEY, key, allowance) &&
           add_names(call, receipt, names);
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

/* ---- gas keys, which hold a balance for gas ---- */

/* Bytes of an access key in the trie: its prefix, the account, a separator, and the key, of which
 * newer versions store a hash if it is long. */
static uint64_t stored_key_bytes(const struct near_call *call, const struct near_receipt *receipt,
                                 struct wasm_bytes key)
{
    enum { PREFIX = 1, SEPARATOR = 1, HASHED = 1 + 32 };
    const bool is_hashed =
        call->parameters->fix_ml_dsa_cost_charging != 0 && is_ml_dsa_key(call, key);

    return PREFIX + receipt->receiver.length + SEPARATOR + (is_hashed ? HASHED : key.length);
}

static uint64_t send_gas(const struct near_fee *fee, bool own)
{
    return own ? fee->send_sir : fee->send_not_sir;
}

static bool pay_gas_key_transfer(struct near_call *call, const struct near_receipt *receipt,
                                 struct wasm_bytes key, bool own)
{
    enum { VALUE = 27 }; /* nonce 8, kind of permission 1, balance 16, number of nonces 2 */
    const struct near_fee *byte = &call->parameters->fee[NEAR_FEE_gas_key_byte];

    return near_pay_action(call, NEAR_FEE_gas_key_transfer_base, 1, own) &&
           near_pay_fee(call, NEAR_FEE_gas_key_byte, send_gas(byte, own) * key.length,
                        byte->execution * (stored_key_bytes(call, receipt, key) + VALUE));
}

bool near_host_promise_batch_action_transfer_to_gas_key(struct near_call *call, uint64_t *a)
{
    struct near_receipt *receipt;
    unsigned __int128 amount;
    struct wasm_bytes key;
    bool own;

    return host_action_begin(call, "promise_batch_action_transfer_to_gas_key") &&
           near_take(call, a[1], a[2], &key) && near_take_amount(call, a[3], &amount) &&
           near_promise_receipt(call, a[0], &receipt, &own) &&
           pay_gas_key_transfer(call, receipt, key, own) && deduct_from_balance(call, amount) &&
           is_key(call, key) &&
           host_action_add(call, receipt, NEAR_ACTION_TRANSFER_TO_GAS_KEY, key, amount);
}

/* Each nonce is a record of its own, with its number in the key. */
static bool add_gas_key(struct near_call *call, struct near_receipt *receipt, struct wasm_bytes key,
                        uint64_t nonces, bool own)
{
    enum { INFORMATION = 18, NUMBER = 2, NONCE = 8 }; /* information: balance, number of nonces */
    const struct near_fee *byte = &call->parameters->fee[NEAR_FEE_gas_key_byte];
    const struct near_fee *write = &call->parameters->fee[NEAR_FEE_gas_key_nonce_write_base];
    const uint64_t bytes = nonces * (stored_key_bytes(call, receipt, key) + NUMBER + NONCE);

    return near_pay_fee(call, NEAR_FEE_gas_key_nonce_write_base, 0, write->execution * nonces) &&
           near_pay_fee(call, NEAR_FEE_gas_key_byte, send_gas(byte, own) * INFORMATION,
                        byte->execution * bytes) &&
           is_key(call, key) && host_action_add(call, receipt, NEAR_ACTION_ADD_GAS_KEY, key, 0);
}

static bool check_nonces(struct near_call *call, uint64_t nonces)
{
    return nonces <= UINT16_MAX || near_fail(call, "Integer overflow.");
}

bool near_host_promise_batch_action_add_gas_key_with_full_access(struct near_call *call,
                                                                 uint64_t *a)
{
    struct near_receipt *receipt;
    struct wasm_bytes key;
    bool own;

    return host_action_begin(call, "promise_batch_action_add_gas_key_with_full_access") &&
           near_take(call, a[1], a[2], &key) && check_nonces(call, a[3]) &&
           near_promise_receipt(call, a[0], &receipt, &own) &&
           near_pay_action(call, NEAR_FEE_add_full_access_key, 1, own) &&
           add_gas_key(call, receipt, key, a[3], own);
}

bool near_host_promise_batch_action_add_gas_key_with_function_call(struct near_call *call,
                                                                   uint64_t *a)
{
    struct wasm_bytes key, receiver, names;
    struct near_receipt *receipt;
    unsigned __int128 allowance;
    uint64_t bytes;
    bool own;

    return host_action_begin(call, "promise_batch_action_add_gas_key_with_function_call") &&
           near_take(call, a[1], a[2], &key) && check_nonces(call, a[3]) &&
           near_take_amount(call, a[4], &allowance) &&
           near_take_account(call, a[5], a[6], &receiver) && near_take(call, a[7], a[8], &names) &&
           count_names(call, names, &bytes) && near_promise_receipt(call, a[0], &receipt, &own) &&
           near_pay_action(call, NEAR_FEE_add_function_call_key_base, 1, own) &&
           near_pay_action(call, NEAR_FEE_add_function_call_key_byte, bytes, own) &&
           add_gas_key(call, receipt, key, a[3], own) && add_names(call, receipt, names);
}

/* ---- yielded promises: calls of the contract itself that wait until it resumes them ---- */

static void name_yield(char name[NEAR_YIELD_SIZE], char kind, const uint8_t bytes[NEAR_YIELD_BYTES])
{
    name[0] = kind;
    hex_write(name + 1, bytes, NEAR_YIELD_BYTES);
    name[NEAR_YIELD_SIZE - 1] = '\0';
}

/* Names are used once: the hash is of the account and of how many promises it yielded before. */
static bool new_yield(struct near_call *call, uint8_t bytes[NEAR_YIELD_BYTES])
{
    enum { ACCOUNT = 64 };
    const char *account = call->context->current_account;
    uint8_t text[ACCOUNT + sizeof(uint64_t)] = {0};
    uint64_t number = call->context->yielded;

    for (uint32_t i = 0; i < call->receipts.count; i++)
        number += call->receipts.receipts[i].yield[0] == NEAR_YIELD_BY_DATA;
    memcpy(text, account, strnlen(account, ACCOUNT));
    memcpy(text + ACCOUNT, &number, sizeof number);
    call->is_lost |= EVP_Digest(text, sizeof text, bytes, NULL, EVP_sha256(), NULL) != 1;
    return !call->is_lost;
}

/* The call can also resume a promise that it yields itself. */
static bool is_waiting(const struct near_call *call, const char *name)
{
    const struct near_context *context = call->context;

    for (uint32_t i = 0; i < call->receipts.count; i++)
        if (strcmp(call->receipts.receipts[i].yield, name) == 0)
            return true;
    return context->is_waiting != NULL && context->is_waiting(context->yields, name);
}

/* a[0] gets the promise. */
static bool add_yield(struct near_call *call, uint64_t *a, const char *name,
                      const struct function_call *made)
{
    const struct near_fee *fee = &call->parameters->fee[NEAR_FEE_new_action_receipt];
    const struct near_fee *data = &call->parameters->fee[NEAR_FEE_new_data_receipt_base];
    const uint32_t number = call->receipts.count;
    const char *own = call->context->current_account;
    struct near_receipt *receipt;

    if (!near_pay_fee(call, NEAR_FEE_function_call_base, 0, made->gas) ||
        !near_pay_fee(call, NEAR_FEE_new_action_receipt,
                      fee->send_sir + data->send_sir + data->execution, fee->execution))
        return false;
    receipt = near_receipts_add(&call->receipts, own, strlen(own), NULL, 0);
    if (receipt == NULL)
        return near_no_memory(call);
    memcpy(receipt->yield, name, NEAR_YIELD_SIZE);
    receipt->expires =
        call->context->block_height + call->parameters->yield_timeout_length_in_blocks;
    return add_promise(call, a, false, &number, 1) &&
           near_pay_action(call, NEAR_FEE_function_call_base, 1, true) &&
           near_pay_action(call, NEAR_FEE_function_call_byte,
                           (uint64_t)made->method.length + made->arguments.length, true) &&
           deduct_deposit(call, made->amount) && add_call_action(call, receipt, made);
}

static bool take_yield_call(struct near_call *call, const uint64_t *a, struct function_call *made)
{
    if (!near_take(call, a[0], a[1], &made->method))
        return false;
    if (made->method.length == 0)
        return near_fail(call, "Tried to call an empty method name.");
    return near_take(call, a[2], a[3], &made->arguments);
}

static bool pay_yield_bytes(struct near_call *call, const struct function_call *made)
{
    return near_pay_each(call, NEAR_COST_yield_create_byte,
                         (uint64_t)made->method.length + made->arguments.length);
}

bool near_host_promise_yield_create(struct near_call *call, uint64_t *a)
{
    struct function_call made = {.gas = a[4], .weight = a[5]};
    const uint64_t id = a[6];
    uint8_t bytes[NEAR_YIELD_BYTES];
    char name[NEAR_YIELD_SIZE];

    if (!host_action_begin(call, "promise_yield_create") ||
        !near_pay(call, NEAR_COST_yield_create_base) || !take_yield_call(call, a, &made) ||
        !pay_yield_bytes(call, &made) || !new_yield(call, bytes))
        return false;
    name_yield(name, NEAR_YIELD_BY_DATA, bytes);
    return add_yield(call, a, name, &made) && near_register_set(call, id, bytes, sizeof bytes);
}

/* Gives UINT64_MAX if a promise of that name waits already. */
bool near_host_promise_yield_create_with_id(struct near_call *call, uint64_t *a)
{
    struct function_call made = {.gas = a[5], .weight = a[6]};
    struct wasm_bytes chosen;
    char name[NEAR_YIELD_SIZE];

    if (!host_action_begin(call, "promise_yield_create_with_id") ||
        !near_pay(call, NEAR_COST_yield_create_with_id_base) ||
        !near_take_amount(call, a[4], &made.amount) || !take_yield_call(call, a, &made) ||
        !near_take(call, a[7], a[8], &chosen))
        return false;
    if (chosen.length != NEAR_YIELD_BYTES)
        return near_fail(call, "yield id is malformed");
    if (!pay_yield_bytes(call, &made))
        return false;
    name_yield(name, NEAR_YIELD_BY_NAME, chosen.data);
    if (!is_waiting(call, name))
        return add_yield(call, a, name, &made);
    a[0] = UINT64_MAX;
    return true;
}

/* The payload's length is paid for before it is read, so it cannot be a register's. */
static bool resume_yield(struct near_call *call, uint64_t *a, char kind, const char *malformed)
{
    const uint64_t limit = call->parameters->max_yield_payload_size;
    struct wasm_bytes given, payload;
    char name[NEAR_YIELD_SIZE];

    if (!near_pay(call, NEAR_COST_yield_resume_base) ||
        !near_pay_each(call, NEAR_COST_yield_resume_byte, a[2]) ||
        !near_take(call, a[0], a[1], &given) || !near_take(call, a[2], a[3], &payload))
        return false;
    if (payload.length > limit)
        return near_fail(call, "Yield resume payload is %u bytes which exceeds the %llu byte limit",
                         payload.length, (unsigned long long)limit);
    if (given.length != NEAR_YIELD_BYTES)
        return near_fail(call, "%s", malformed);
    name_yield(name, kind, given.data);
    a[0] = is_waiting(call, name);
    return a[0] == 0 || near_receipts_add_resumption(&call->receipts, name, payload) != NULL ||
           near_no_memory(call);
}

bool near_host_promise_yield_resume(struct near_call *call, uint64_t *a)
{
    return host_action_begin(call, "promise_yield_resume") &&
           resume_yield(call, a, NEAR_YIELD_BY_DATA, "yield resumption token is malformed");
}

bool near_host_promise_yield_resume_with_yield_id(struct near_call *call, uint64_t *a)
{
    return host_action_begin(call, "promise_yield_resume_with_yield_id") &&
           resume_yield(call, a, NEAR_YIELD_BY_NAME, "yield id is malformed");
}
