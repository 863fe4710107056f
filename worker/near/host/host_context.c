/* SPDX-License-Identifier: Apache-2.0 */
/* Registers, and what a call is told of itself and of the chain. */
#include <string.h>

#include "worker/near/host/host_functions.h"

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

static bool give(struct near_call *call, uint64_t *a, uint64_t value)
{
    a[0] = value;
    return pay_base(call);
}

bool near_host_block_index(struct near_call *call, uint64_t *a)
{
    return give(call, a, call->context->block_height);
}

bool near_host_block_timestamp(struct near_call *call, uint64_t *a)
{
    return give(call, a, call->context->block_timestamp);
}

bool near_host_epoch_height(struct near_call *call, uint64_t *a)
{
    return give(call, a, call->context->epoch_height);
}

bool near_host_storage_usage(struct near_call *call, uint64_t *a)
{
    return give(call, a, call->storage_usage);
}

bool near_host_prepaid_gas(struct near_call *call, uint64_t *a)
{
    return give(call, a, call->context->prepaid_gas) && near_not_in_view(call, "prepaid_gas");
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

/* ---- validators: there are none without a chain ---- */

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
