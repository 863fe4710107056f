/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/near/host/host_functions.h"

static bool pay_base(struct near_call *call)
{
    return near_pay(call, NEAR_COST_base);
}

static bool take_key(struct near_call *call, uint64_t length, uint64_t at, struct wasm_bytes *key)
{
    if (!near_take(call, length, at, key))
        return false;
    return key->length <= call->parameters->max_length_storage_key ||
           near_fail(call, "The length of a storage key %u exceeds the limit %llu", key->length,
                     (unsigned long long)call->parameters->max_length_storage_key);
}

/* What is stored there, in call->old_value. */
static bool look_up(struct near_call *call, struct wasm_bytes key, bool *found)
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
        !look_up(call, key, &found) || !store(call, key, value))
        return false;
    a[0] = found;
    if (!found) {
        call->storage_usage += record_bytes(call, key.length, value.length);
        return true;
    }
    call->storage_usage += value.length - call->old_value.length;
    return near_pay_each(call, NEAR_COST_storage_write_evicted_byte, call->old_value.length) &&
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
        !look_up(call, key, &found))
        return false;
    a[0] = found;
    return !found || (pay_for_value(call) &&
                      near_register_set(call, a[2], call->old_value.data, call->old_value.length));
}

bool near_host_storage_remove(struct near_call *call, uint64_t *a)
{
    struct wasm_bytes key;
    bool found = false;

    if (!pay_base(call) || !near_not_in_view(call, "storage_remove") ||
        !near_pay(call, NEAR_COST_storage_remove_base) || !take_key(call, a[0], a[1], &key) ||
        !near_pay_each(call, NEAR_COST_storage_remove_key_byte, key.length) ||
        !look_up(call, key, &found))
        return false;
    a[0] = found;
    if (!found)
        return true;
    call->storage_usage -= record_bytes(call, key.length, call->old_value.length);
    call->is_lost = call->storage->remove(call->storage->context, key) != 0;
    return !call->is_lost &&
           near_pay_each(call, NEAR_COST_storage_remove_ret_value_byte, call->old_value.length) &&
           near_register_set(call, a[2], call->old_value.data, call->old_value.length);
}

bool near_host_storage_has_key(struct near_call *call, uint64_t *a)
{
    struct wasm_bytes key;
    bool found = false;

    if (!pay_base(call) || !near_pay(call, NEAR_COST_storage_has_key_base) ||
        !take_key(call, a[0], a[1], &key) ||
        !near_pay_each(call, NEAR_COST_storage_has_key_byte, key.length) ||
        !look_up(call, key, &found))
        return false;
    a[0] = found;
    return true;
}

/* ---- iterators, which NEAR has no more ---- */

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
