/* SPDX-License-Identifier: Apache-2.0 */
/* The contract's memory and its registers, as host functions see them. */
#include <stdlib.h>
#include <string.h>

#include "worker/near/call/call.h"

static bool violation(struct near_call *call)
{
    return near_fail(call, "Accessed memory outside the bounds.");
}

static bool pay_both(struct near_call *call, enum near_cost base, enum near_cost each,
                     uint64_t count)
{
    return near_pay(call, base) && near_pay_each(call, each, count);
}

bool near_view(struct near_call *call, uint64_t at, uint64_t length, struct wasm_bytes *bytes)
{
    const struct wasm_memory *memory = call->instance->memory;

    if (!pay_both(call, NEAR_COST_read_memory_base, NEAR_COST_read_memory_byte, length))
        return false;
    if (!wasm_memory_has(memory, at, length)) {
        (void)violation(call);
        return false;
    }
    *bytes = (struct wasm_bytes){.data = memory->bytes + at, .length = (uint32_t)length};
    return true;
}

bool near_put(struct near_call *call, uint64_t at, const void *bytes, uint64_t length)
{
    const struct wasm_memory *memory = call->instance->memory;

    if (!pay_both(call, NEAR_COST_write_memory_base, NEAR_COST_write_memory_byte, length))
        return false;
    if (!wasm_memory_has(memory, at, length))
        return violation(call);
    if (length != 0)
        memcpy(memory->bytes + at, bytes, length);
    return true;
}

bool near_take(struct near_call *call, uint64_t length, uint64_t at, struct wasm_bytes *bytes)
{
    return length == UINT64_MAX ? near_register_get(call, at, bytes)
                                : near_view(call, at, length, bytes);
}

static struct near_register *find_register(const struct near_call *call, uint64_t id)
{
    for (uint32_t i = 0; i < call->register_count; i++)
        if (call->registers[i].id == id)
            return &call->registers[i];
    return NULL;
}

bool near_register_length(const struct near_call *call, uint64_t id, uint64_t *length)
{
    const struct near_register *found = find_register(call, id);

    if (found != NULL)
        *length = found->bytes.length;
    return found != NULL;
}

bool near_register_get(struct near_call *call, uint64_t id, struct wasm_bytes *bytes)
{
    const struct near_register *found = find_register(call, id);

    if (found == NULL)
        return near_fail(call, "Accessed invalid register id: %llu", (unsigned long long)id);
    *bytes = (struct wasm_bytes){.data = (const uint8_t *)found->bytes.data,
                                 .length = (uint32_t)found->bytes.length};
    return pay_both(call, NEAR_COST_read_register_base, NEAR_COST_read_register_byte,
                    found->bytes.length);
}

static struct near_register *add_register(struct near_call *call, uint64_t id)
{
    struct near_register *grown =
        reallocarray(call->registers, call->register_count + 1u, sizeof *grown);

    if (grown == NULL) {
        (void)near_no_memory(call);
        return NULL;
    }
    call->registers = grown;
    grown[call->register_count] = (struct near_register){.id = id};
    return &grown[call->register_count++];
}

/* Also where a register is only replaced, there must be room for one more: so it is on NEAR. */
static bool check_limits(struct near_call *call, const struct near_register *entry, uint64_t length)
{
    enum { OVERHEAD = 8 };
    const uint64_t before = entry != NULL ? entry->bytes.length + OVERHEAD : 0;
    const struct near_parameters *limits = call->parameters;
    uint64_t usage;

    if (length > limits->max_register_size || call->register_count >= limits->max_number_registers)
        return violation(call);
    usage = call->register_bytes - before + length + OVERHEAD;
    if (usage > limits->registers_memory_limit)
        return violation(call);
    call->register_bytes = usage;
    return true;
}

static bool set_register(struct near_call *call, uint64_t id, const void *bytes, uint64_t length)
{
    struct near_register *entry = find_register(call, id);
    struct buf copy = {0};

    if (!check_limits(call, entry, length))
        return false;
    if (entry == NULL)
        entry = add_register(call, id);
    if (entry == NULL)
        return false;
    /* What is copied may be the register itself. */
    if (length != 0 && buf_append(&copy, bytes, length) != 0)
        call->is_lost = true;
    buf_free(&entry->bytes);
    entry->bytes = copy;
    return !call->is_lost;
}

bool near_register_set(struct near_call *call, uint64_t id, const void *bytes, uint64_t length)
{
    return pay_both(call, NEAR_COST_write_register_base, NEAR_COST_write_register_byte, length) &&
           set_register(call, id, bytes, length);
}

bool near_register_share(struct near_call *call, uint64_t id, const void *bytes, uint64_t length)
{
    if (!call->parameters->deterministic_account_ids)
        return near_register_set(call, id, bytes, length);
    return near_pay(call, NEAR_COST_write_register_base) && set_register(call, id, bytes, length);
}

bool near_take_amount(struct near_call *call, uint64_t at, unsigned __int128 *amount)
{
    struct wasm_bytes bytes;

    if (!near_view(call, at, sizeof *amount, &bytes))
        return false;
    memcpy(amount, bytes.data, sizeof *amount);
    return true;
}

bool near_take_account(struct near_call *call, uint64_t length, uint64_t at,
                       struct wasm_bytes *account)
{
    if (!near_take(call, length, at, account) ||
        !pay_both(call, NEAR_COST_utf8_decoding_base, NEAR_COST_utf8_decoding_byte,
                  account->length))
        return false;
    if (!wasm_is_utf8(account->data, account->length))
        return near_fail(call, "String encoding is bad UTF-8 sequence.");
    return near_is_account(account->data, account->length) ||
           near_fail(call, "VM Logic returned an invalid account id");
}
