/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/near/host/host.h"

#include <string.h>

static bool pay_base(struct near_call *call)
{
    return near_pay(call, NEAR_COST_base);
}

/* ---- registers ---- */

bool near_host_read_register(struct near_call *call, uint64_t *a)
{
    struct wasm_bytes bytes;

    return pay_base(call) && near_register_get(call, a[0], &bytes) &&
           near_put(call, a[1], bytes.data, bytes.length);
}

bool near_host_register_len(struct near_call *call, uint64_t *a)
{
    uint64_t length = UINT64_MAX;

    if (!pay_base(call))
        return false;
    (void)near_register_length(call, a[0], &length);
    a[0] = length;
    return true;
}

bool near_host_write_register(struct near_call *call, uint64_t *a)
{
    struct wasm_bytes bytes;

    return pay_base(call) && near_view(call, a[2], a[1], &bytes) &&
           near_register_set(call, a[0], bytes.data, bytes.length);
}

/* ---- texts and bytes into a register ---- */

static bool give_text(struct near_call *call, uint64_t id, const char *text)
{
    return near_register_set(call, id, text, strlen(text));
}

bool near_host_current_account_id(struct near_call *call, uint64_t *a)
{
    return pay_base(call) && give_text(call, a[0], call->context->current_account);
}

bool near_host_signer_account_id(struct near_call *call, uint64_t *a)
{
    return pay_base(call) && near_not_in_view(call, "signer_account_id") &&
           give_text(call, a[0], call->context->signer_account);
}

bool near_host_signer_account_pk(struct near_call *call, uint64_t *a)
{
    const struct wasm_bytes *key = &call->context->signer_key;

    return pay_base(call) && near_not_in_view(call, "signer_account_pk") &&
           near_register_set(call, a[0], key->data, key->length);
}

bool near_host_predecessor_account_id(struct near_call *call, uint64_t *a)
{
    return pay_base(call) && near_not_in_view(call, "predecessor_account_id") &&
           give_text(call, a[0], call->context->predecessor_account);
}

bool near_host_refund_to_account_id(struct near_call *call, uint64_t *a)
{
    const struct near_context *context = call->context;

    return pay_base(call) && near_not_in_view(call, "refund_to_account_id") &&
           give_text(call, a[0],
                     context->refund_account != NULL ? context->refund_account
                                                     : context->predecessor_account);
}

bool near_host_chain_id(struct near_call *call, uint64_t *a)
{
    return pay_base(call) && give_text(call, a[0], call->context->chain);
}

bool near_host_input(struct near_call *call, uint64_t *a)
{
    const struct wasm_bytes *input = &call->context->input;

    return pay_base(call) && near_register_share(call, a[0], input->data, input->length);
}

bool near_host_random_seed(struct near_call *call, uint64_t *a)
{
    const struct wasm_bytes *seed = &call->context->random_seed;

    return pay_base(call) && near_register_set(call, a[0], seed->data, seed->length);
}

/* ---- numbers ---- */

static bool return_number(struct near_call *call, uint64_t *a, uint64_t value)
{
    a[0] = value;
    return pay_base(call);
}

bool near_host_block_index(struct near_call *call, uint64_t *a)
{
    return return_number(call, a, call->context->block_height);
}

bool near_host_block_timestamp(struct near_call *call, uint64_t *a)
{
    return return_number(call, a, call->context->block_timestamp);
}

bool near_host_epoch_height(struct near_call *call, uint64_t *a)
{
    return return_number(call, a, call->context->epoch_height);
}

bool near_host_storage_usage(struct near_call *call, uint64_t *a)
{
    return return_number(call, a, call->storage_usage);
}

bool near_host_prepaid_gas(struct near_call *call, uint64_t *a)
{
    return return_number(call, a, call->context->prepaid_gas) &&
           near_not_in_view(call, "prepaid_gas");
}

bool near_host_used_gas(struct near_call *call, uint64_t *a)
{
    if (!pay_base(call) || !near_not_in_view(call, "used_gas"))
        return false;
    a[0] = near_used(call);
    return true;
}

static bool put_amount(struct near_call *call, uint64_t at, unsigned __int128 amount)
{
    return near_put(call, at, &amount, sizeof amount);
}

bool near_host_account_balance(struct near_call *call, uint64_t *a)
{
    return pay_base(call) && put_amount(call, a[0], call->balance);
}

bool near_host_account_locked_balance(struct near_call *call, uint64_t *a)
{
    return pay_base(call) && put_amount(call, a[0], call->context->locked_balance);
}

bool near_host_attached_deposit(struct near_call *call, uint64_t *a)
{
    return pay_base(call) && put_amount(call, a[0], call->context->deposit);
}

/* ---- validators: absent, as there is no chain ---- */

bool near_host_validator_stake(struct near_call *call, uint64_t *a)
{
    struct wasm_bytes account;

    return pay_base(call) && near_take_account(call, a[0], a[1], &account) &&
           near_pay(call, NEAR_COST_validator_stake_base) && put_amount(call, a[2], 0);
}

bool near_host_validator_total_stake(struct near_call *call, uint64_t *a)
{
    return pay_base(call) && near_pay(call, NEAR_COST_validator_total_stake_base) &&
           put_amount(call, a[0], 0);
}

/* ---- results and logs ---- */

/* The end of a call, and its logs. */

/* Pays for sending the result to all accounts that wait for it. */
static bool pay_receivers(struct near_call *call, uint64_t length)
{
    const struct near_fee *fee = &call->parameters->fee[NEAR_FEE_new_data_receipt_byte];
    const struct near_context *context = call->context;
    uint64_t gas = 0;

    for (uint32_t i = 0; i < context->receiver_count; i++) {
        const bool is_own = strcmp(context->receivers[i], context->current_account) == 0;
        uint64_t each = (is_own ? fee->send_sir : fee->send_not_sir) + fee->execution;

        if (__builtin_mul_overflow(each, length, &each) || __builtin_add_overflow(gas, each, &gas))
            return near_fail(call, "Integer overflow.");
    }
    return near_pay_fee(call, NEAR_FEE_new_data_receipt_byte, gas, 0);
}

bool near_host_value_return(struct near_call *call, uint64_t *a)
{
    struct wasm_bytes bytes;

    if (!pay_base(call) || !near_take(call, a[0], a[1], &bytes))
        return false;
    if (bytes.length > call->parameters->max_length_returned_data)
        return near_fail(call, "The length of a returned value %u exceeds the limit %llu",
                         bytes.length,
                         (unsigned long long)call->parameters->max_length_returned_data);
    if (!pay_receivers(call, bytes.length))
        return false;
    buf_clear(&call->result);
    call->has_result = true;
    call->returned_receipt = NEAR_NO_RECEIPT;
    if (bytes.length != 0 && buf_append(&call->result, bytes.data, bytes.length) != 0)
        call->is_lost = true;
    return !call->is_lost;
}

bool near_host_panic(struct near_call *call, uint64_t *a)
{
    (void)a;
    return pay_base(call) && near_fail(call, "Smart contract panicked: explicit guest panic");
}

static bool panic_with(struct near_call *call, struct wasm_bytes text)
{
    return near_fail(call, "Smart contract panicked: %.*s", (int)text.length,
                     (const char *)text.data);
}

bool near_host_panic_utf8(struct near_call *call, uint64_t *a)
{
    struct wasm_bytes text;

    return pay_base(call) && near_text(call, a[0], a[1], &text) && panic_with(call, text);
}

bool near_host_log_utf8(struct near_call *call, uint64_t *a)
{
    struct wasm_bytes text;

    return pay_base(call) && near_may_log(call) && near_text(call, a[0], a[1], &text) &&
           near_log_pay(call, text.length) &&
           near_log_push(call, (const char *)text.data, text.length);
}

bool near_host_log_utf16(struct near_call *call, uint64_t *a)
{
    struct buf text = {0};
    const bool result = pay_base(call) && near_may_log(call) &&
                        near_text_16(call, a[0], a[1], &text) && near_log_pay(call, text.length) &&
                        near_log_push(call, text.data, text.length);

    buf_free(&text);
    return result;
}

/* ---- AssemblyScript's abort(message, file, line, column); the length stands before a text ---- */

static bool length_before(struct near_call *call, uint32_t at, uint32_t *length)
{
    struct wasm_bytes bytes;

    if (!near_view(call, at - sizeof *length, sizeof *length, &bytes))
        return false;
    memcpy(length, bytes.data, sizeof *length);
    return true;
}

static bool abort_with(struct near_call *call, const struct buf *message, const struct buf *file,
                       const uint64_t *a)
{
    enum { HEAD = 7 };
    struct buf line = {0};
    bool result = false;

    buf_printf(&line, "ABORT: %.*s, filename: \"%.*s\" line: %u col: %u", (int)message->length,
               message->length > 0 ? message->data : "", (int)file->length,
               file->length > 0 ? file->data : "", (uint32_t)a[2], (uint32_t)a[3]);
    if (buf_string(&line) == NULL)
        result = near_no_memory(call);
    else if (near_log_pay(call, line.length - HEAD) && near_log_push(call, line.data, line.length))
        result = near_fail(call, "Smart contract panicked: %s", line.data + HEAD);
    buf_free(&line);
    return result;
}

bool near_host_abort(struct near_call *call, uint64_t *a)
{
    const uint32_t message_at = (uint32_t)a[0], file_at = (uint32_t)a[1];
    struct buf message = {0}, file = {0};
    uint32_t message_length, file_length;
    bool result = false;

    if (!pay_base(call))
        return false;
    if (message_at < 4 || file_at < 4)
        return near_fail(call, "String encoding is bad UTF-16 sequence.");
    if (near_may_log(call) && length_before(call, message_at, &message_length) &&
        length_before(call, file_at, &file_length) &&
        near_text_16(call, message_length, message_at, &message) &&
        near_text_16(call, file_length, file_at, &file))
        result = abort_with(call, &message, &file, a);
    buf_free(&message);
    buf_free(&file);
    return result;
}

/* ---- storage ---- */

static bool take_key(struct near_call *call, uint64_t length, uint64_t at, struct wasm_bytes *key)
{
    if (!near_take(call, length, at, key))
        return false;
    return key->length <= call->parameters->max_length_storage_key ||
           near_fail(call, "The length of a storage key %u exceeds the limit %llu", key->length,
                     (unsigned long long)call->parameters->max_length_storage_key);
}

static struct wasm_bytes old_value(const struct near_call *call)
{
    return (struct wasm_bytes){(const uint8_t *)call->old_value.data,
                               (uint32_t)call->old_value.length};
}

/* Reads the stored value into call->old_value. */
static bool get_stored_value(struct near_call *call, struct wasm_bytes key, bool *found)
{
    call->is_lost = call->storage->get(call->storage->context, key, &call->old_value, found) != 0;
    return !call->is_lost;
}

static uint64_t record_bytes(const struct near_call *call, uint64_t key, uint64_t value)
{
    return key + value + call->parameters->storage_num_extra_bytes_record;
}

static bool store(struct near_call *call, struct wasm_bytes key, struct wasm_bytes value)
{
    call->is_lost = call->storage->set(call->storage->context, key, value) != 0;
    return !call->is_lost;
}

bool near_host_storage_write(struct near_call *call, uint64_t *a)
{
    const struct near_parameters *costs = call->parameters;
    const uint64_t id = a[4];
    struct wasm_bytes key, value;
    bool found = false;

    if (!pay_base(call) || !near_not_in_view(call, "storage_write") ||
        !near_pay(call, NEAR_COST_storage_write_base) || !take_key(call, a[0], a[1], &key) ||
        !near_take(call, a[2], a[3], &value))
        return false;
    if (value.length > costs->max_length_storage_value)
        return near_fail(call, "The length of a storage value %u exceeds the limit %llu",
                         value.length, (unsigned long long)costs->max_length_storage_value);
    if (!near_pay_each(call, NEAR_COST_storage_write_key_byte, key.length) ||
        !near_pay_each(call, NEAR_COST_storage_write_value_byte, value.length) ||
        !get_stored_value(call, key, &found) || !store(call, key, value))
        return false;
    a[0] = found;
    if (!found) {
        call->storage_usage += record_bytes(call, key.length, value.length);
        return near_proof_write(call, key, false);
    }
    call->storage_usage += value.length - call->old_value.length;
    return near_pay_each(call, NEAR_COST_storage_write_evicted_byte, call->old_value.length) &&
           near_proof_read(call, key, old_value(call)) && near_proof_write(call, key, false) &&
           near_register_set(call, id, call->old_value.data, call->old_value.length);
}

static bool pay_for_value(struct near_call *call)
{
    enum { INLINE_MOST = 4000 }; /* nearcore's INLINE_DISK_VALUE_THRESHOLD */
    const uint64_t length = call->old_value.length;

    if (!near_pay_each(call, NEAR_COST_storage_read_value_byte, length))
        return false;
    return length <= INLINE_MOST ||
           (near_pay(call, NEAR_COST_storage_large_read_overhead_base) &&
            near_pay_each(call, NEAR_COST_storage_large_read_overhead_byte, length));
}

bool near_host_storage_read(struct near_call *call, uint64_t *a)
{
    struct wasm_bytes key;
    bool found = false;

    if (!pay_base(call) || !near_pay(call, NEAR_COST_storage_read_base) ||
        !take_key(call, a[0], a[1], &key) ||
        !near_pay_each(call, NEAR_COST_storage_read_key_byte, key.length) ||
        !get_stored_value(call, key, &found))
        return false;
    a[0] = found;
    return !found || (pay_for_value(call) && near_proof_read(call, key, old_value(call)) &&
                      near_register_set(call, a[2], call->old_value.data, call->old_value.length));
}

bool near_host_storage_remove(struct near_call *call, uint64_t *a)
{
    struct wasm_bytes key;
    bool found = false;

    if (!pay_base(call) || !near_not_in_view(call, "storage_remove") ||
        !near_pay(call, NEAR_COST_storage_remove_base) || !take_key(call, a[0], a[1], &key) ||
        !near_pay_each(call, NEAR_COST_storage_remove_key_byte, key.length) ||
        !get_stored_value(call, key, &found))
        return false;
    a[0] = found;
    if (!found)
        return near_proof_write(call, key, true);
    call->storage_usage -= record_bytes(call, key.length, call->old_value.length);
    call->is_lost = call->storage->remove(call->storage->context, key) != 0;
    return !call->is_lost &&
           near_pay_each(call, NEAR_COST_storage_remove_ret_value_byte, call->old_value.length) &&
           near_proof_read(call, key, old_value(call)) && near_proof_write(call, key, true) &&
           near_register_set(call, a[2], call->old_value.data, call->old_value.length);
}

bool near_host_storage_has_key(struct near_call *call, uint64_t *a)
{
    struct wasm_bytes key;
    bool found = false;

    if (!pay_base(call) || !near_pay(call, NEAR_COST_storage_has_key_base) ||
        !take_key(call, a[0], a[1], &key) ||
        !near_pay_each(call, NEAR_COST_storage_has_key_byte, key.length) ||
        !get_stored_value(call, key, &found))
        return false;
    a[0] = found;
    return true;
}

/* ---- iterators, which NEAR has removed ---- */

static bool deprecated(struct near_call *call, const char *name)
{
    return near_fail(call, "Attempted to call deprecated host function %s", name);
}

bool near_host_storage_iter_prefix(struct near_call *call, uint64_t *a)
{
    (void)a;
    return deprecated(call, "storage_iter_prefix");
}

bool near_host_storage_iter_range(struct near_call *call, uint64_t *a)
{
    (void)a;
    return deprecated(call, "storage_iter_range");
}

bool near_host_storage_iter_next(struct near_call *call, uint64_t *a)
{
    (void)a;
    return deprecated(call, "storage_iter_next");
}

/* ---- all functions ---- */

/* abort() with four 32-bit numbers is unique to AssemblyScript, so only host functions have it. */
static const uint8_t words_64[] = {WASM_I64, WASM_I64, WASM_I64, WASM_I64, WASM_I64,
                                   WASM_I64, WASM_I64, WASM_I64, WASM_I64};
static const uint8_t words_32[] = {WASM_I32, WASM_I32, WASM_I32, WASM_I32};

static enum wasm_trap host_enter(void *context, near_function *function, uint64_t *values)
{
    struct near_call *call = context;

    return function(call, values) ? WASM_TRAP_NONE : WASM_TRAP_HOST;
}

#define X(name, ...)                                                                               \
    static enum wasm_trap call_##name(void *context, struct wasm_machine *machine,                 \
                                      struct wasm_instance *caller, uint64_t *values)              \
    {                                                                                              \
        (void)machine;                                                                             \
        (void)caller;                                                                              \
        return host_enter(context, near_host_##name, values);                                      \
    }
NEAR_CONTEXT_FUNCTIONS(X)
NEAR_OTHER_FUNCTIONS(X)
NEAR_PROMISE_FUNCTIONS(X)
NEAR_CURVE_FUNCTIONS(X)
#undef X

#define X(name, ...)                                                                               \
    static enum wasm_trap call_##name(void *context, struct wasm_machine *machine,                 \
                                      struct wasm_instance *caller, uint64_t *values)              \
    {                                                                                              \
        (void)machine;                                                                             \
        (void)caller;                                                                              \
        (void)values;                                                                              \
        near_fail(context, "gaspipe has no " #name);                                               \
        return WASM_TRAP_HOST;                                                                     \
    }
NEAR_MISSING_FUNCTIONS(X)
#undef X

static const struct {
    const char *name;
    wasm_host_function *call;
    uint32_t parameters, results;
} functions[] = {
#define X(name, parameters, results) {#name, call_##name, parameters, results},
    NEAR_CONTEXT_FUNCTIONS(X) NEAR_OTHER_FUNCTIONS(X) NEAR_PROMISE_FUNCTIONS(X)
        NEAR_CURVE_FUNCTIONS(X) NEAR_MISSING_FUNCTIONS(X)
#undef X
};

/* Functions that a protocol version added, by how their names begin: each needs its setting. */
static const struct {
    const char *prefix;
    size_t setting;
} added[] = {
#define ADDED(prefix, setting)                                                                     \
    {                                                                                              \
        prefix, offsetof(struct near_parameters, setting)                                          \
    }
    ADDED("promise_yield_create_with_id", yield_with_id_host_fns),
    ADDED("promise_yield_resume_with_yield_id", yield_with_id_host_fns),
    ADDED("promise_yield_", yield_resume_host_fns),
    ADDED("bls12381_", bls12381_host_fns),
    ADDED("promise_batch_action_deploy_global_contract", global_contract_host_fns),
    ADDED("promise_batch_action_use_global_contract", global_contract_host_fns),
    ADDED("promise_set_refund_to", deterministic_account_ids),
    ADDED("refund_to_account_id", deterministic_account_ids),
    ADDED("current_contract_code", deterministic_account_ids),
    ADDED("promise_batch_action_state_init", deterministic_account_ids),
    ADDED("set_state_init_data_entry", deterministic_account_ids),
    ADDED("chain_id", chain_id_host_fn),
    ADDED("promise_batch_action_transfer_to_gas_key", gas_key_host_fns),
    ADDED("promise_batch_action_add_gas_key_", gas_key_host_fns),
    ADDED("p256_verify", p256_verify_host_fn),
    ADDED("sha3_", sha3_host_fns),
    ADDED("ml_dsa_verify", ml_dsa_verify_host_fn),
    ADDED("promise_batch_action_universal_state_init", universal_accounts),
    ADDED("universal_state_init_to_account_id", universal_accounts),
#undef ADDED
};

static bool version_has(const struct near_parameters *parameters, const char *name)
{
    for (size_t i = 0; i < sizeof added / sizeof *added; i++)
        if (strncmp(name, added[i].prefix, strlen(added[i].prefix)) == 0)
            return *(const uint64_t *)((const char *)parameters + added[i].setting) != 0;
    return true;
}

int near_host_resolve(void *context, const struct wasm_module *module,
                      const struct wasm_import *import, struct wasm_extern *given,
                      struct error *error)
{
    static struct wasm_function_type types[sizeof functions / sizeof *functions];
    const struct near_call *call = context;

    (void)module;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        if (!wasm_bytes_are(import->name, functions[i].name))
            continue;
        if (!version_has(call->parameters, functions[i].name))
            break;
        types[i].parameters = (struct wasm_bytes){words_64, functions[i].parameters};
        if (functions[i].call == call_abort)
            types[i].parameters.data = words_32;
        types[i].results = (struct wasm_bytes){words_64, functions[i].results};
        if (functions[i].call == call_promise_yield_resume ||
            functions[i].call == call_promise_yield_resume_with_yield_id)
            types[i].results.data = words_32;
        given->kind = WASM_FUNCTION;
        given->function.call = functions[i].call;
        given->function.context = context;
        given->type = &types[i];
        return 0;
    }
    return error_set(error, ERROR_INPUT, "this version of NEAR has no host function %.*s",
                     (int)(import->name.length < 100 ? import->name.length : 100),
                     (const char *)import->name.data);
}
