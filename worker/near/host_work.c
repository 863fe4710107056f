/* SPDX-License-Identifier: Apache-2.0 */
/* Hashes, results, logs and storage. */
#include <openssl/evp.h>
#include <string.h>

#include "worker/near/host_functions.h"
#include "worker/near/keccak.h"

static bool pay_base(struct near_call *call)
{
    return near_pay(call, call->parameters->wasm_base);
}

/* ---- hashes ---- */

static bool digest(struct near_call *call, uint64_t id, struct wasm_bytes bytes, const EVP_MD *kind)
{
    unsigned char hash[EVP_MAX_MD_SIZE];
    unsigned size = 0;

    if (EVP_Digest(bytes.data, bytes.length, hash, &size, kind, NULL) != 1) {
        call->is_lost = true;
        return near_fail(call, "the host cannot compute a hash");
    }
    return near_register_set(call, id, hash, size);
}

bool near_host_sha256(struct near_call *call, uint64_t *a)
{
    struct wasm_bytes bytes;

    return near_pay(call, call->parameters->wasm_sha256_base) &&
           near_take(call, a[0], a[1], &bytes) &&
           near_pay_each(call, call->parameters->wasm_sha256_byte, bytes.length) &&
           digest(call, a[2], bytes, EVP_sha256());
}

bool near_host_keccak256(struct near_call *call, uint64_t *a)
{
    struct wasm_bytes bytes;
    uint8_t hash[32];

    if (!near_pay(call, call->parameters->wasm_keccak256_base) ||
        !near_take(call, a[0], a[1], &bytes) ||
        !near_pay_each(call, call->parameters->wasm_keccak256_byte, bytes.length))
        return false;
    near_keccak(bytes.data, bytes.length, hash, sizeof hash);
    return near_register_set(call, a[2], hash, sizeof hash);
}

bool near_host_keccak512(struct near_call *call, uint64_t *a)
{
    struct wasm_bytes bytes;
    uint8_t hash[64];

    if (!near_pay(call, call->parameters->wasm_keccak512_base) ||
        !near_take(call, a[0], a[1], &bytes) ||
        !near_pay_each(call, call->parameters->wasm_keccak512_byte, bytes.length))
        return false;
    near_keccak(bytes.data, bytes.length, hash, sizeof hash);
    return near_register_set(call, a[2], hash, sizeof hash);
}

bool near_host_ripemd160(struct near_call *call, uint64_t *a)
{
    enum { BLOCK = 64, PADDING = 8 };
    struct wasm_bytes bytes;

    if (!near_pay(call, call->parameters->wasm_ripemd160_base) ||
        !near_take(call, a[0], a[1], &bytes))
        return false;
    return near_pay_each(call, call->parameters->wasm_ripemd160_block,
                         ((uint64_t)bytes.length + PADDING) / BLOCK + 1) &&
           digest(call, a[2], bytes, EVP_ripemd160());
}

/* ---- how a call ends ---- */

bool near_host_value_return(struct near_call *call, uint64_t *a)
{
    struct wasm_bytes bytes;

    if (!pay_base(call) || !near_take(call, a[0], a[1], &bytes))
        return false;
    if (bytes.length > call->parameters->max_length_returned_data)
        return near_fail(call, "The length of a returned value %u exceeds the limit %llu",
                         bytes.length,
                         (unsigned long long)call->parameters->max_length_returned_data);
    buf_clear(&call->result);
    call->has_result = true;
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

/* AssemblyScript's; its texts are UTF-16, of which the places are told. */
bool near_host_abort(struct near_call *call, uint64_t *a)
{
    return pay_base(call) && near_fail(call, "Smart contract panicked: abort at line %u, column %u",
                                       (uint32_t)a[2], (uint32_t)a[3]);
}

bool near_host_log_utf8(struct near_call *call, uint64_t *a)
{
    struct wasm_bytes text;

    if (!pay_base(call))
        return false;
    if (call->log_count >= call->parameters->max_number_logs)
        return near_fail(call, "The number of logs will exceed the limit %llu",
                         (unsigned long long)call->parameters->max_number_logs);
    if (!near_text(call, a[0], a[1], &text) || !near_pay(call, call->parameters->wasm_log_base) ||
        !near_pay_each(call, call->parameters->wasm_log_byte, text.length))
        return false;
    call->log_count++;
    call->log_bytes += text.length;
    call->is_lost =
        call->storage->log(call->storage->context, (const char *)text.data, text.length) != 0;
    return !call->is_lost;
}

/* ---- storage ---- */

static bool may_write(struct near_call *call, const char *name)
{
    return !call->context->is_view || near_fail(call, "%s is not allowed in view calls", name);
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

    if (!pay_base(call) || !may_write(call, "storage_write") ||
        !near_pay(call, costs->wasm_storage_write_base) || !take_key(call, a[0], a[1], &key) ||
        !near_take(call, a[2], a[3], &value))
        return false;
    if (value.length > costs->max_length_storage_value)
        return near_fail(call, "The length of a storage value %u exceeds the limit %llu",
                         value.length, (unsigned long long)costs->max_length_storage_value);
    if (!near_pay_each(call, costs->wasm_storage_write_key_byte, key.length) ||
        !near_pay_each(call, costs->wasm_storage_write_value_byte, value.length) ||
        !look_up(call, key, &found) || !store(call, key, value))
        return false;
    a[0] = found;
    if (!found) {
        call->storage_usage += record_bytes(call, key.length, value.length);
        return true;
    }
    call->storage_usage += value.length - call->old_value.length;
    return near_pay_each(call, costs->wasm_storage_write_evicted_byte, call->old_value.length) &&
           near_register_set(call, id, call->old_value.data, call->old_value.length);
}

bool near_host_storage_read(struct near_call *call, uint64_t *a)
{
    const struct near_parameters *costs = call->parameters;
    struct wasm_bytes key;
    bool found = false;

    if (!pay_base(call) || !near_pay(call, costs->wasm_storage_read_base) ||
        !take_key(call, a[0], a[1], &key) ||
        !near_pay_each(call, costs->wasm_storage_read_key_byte, key.length) ||
        !look_up(call, key, &found))
        return false;
    a[0] = found;
    return !found ||
           (near_pay_each(call, costs->wasm_storage_read_value_byte, call->old_value.length) &&
            near_register_set(call, a[2], call->old_value.data, call->old_value.length));
}

bool near_host_storage_remove(struct near_call *call, uint64_t *a)
{
    const struct near_parameters *costs = call->parameters;
    struct wasm_bytes key;
    bool found = false;

    if (!pay_base(call) || !may_write(call, "storage_remove") ||
        !near_pay(call, costs->wasm_storage_remove_base) || !take_key(call, a[0], a[1], &key) ||
        !near_pay_each(call, costs->wasm_storage_remove_key_byte, key.length) ||
        !look_up(call, key, &found))
        return false;
    a[0] = found;
    if (!found)
        return true;
    call->storage_usage -= record_bytes(call, key.length, call->old_value.length);
    call->is_lost = call->storage->remove(call->storage->context, key) != 0;
    return !call->is_lost &&
           near_pay_each(call, costs->wasm_storage_remove_ret_value_byte, call->old_value.length) &&
           near_register_set(call, a[2], call->old_value.data, call->old_value.length);
}

bool near_host_storage_has_key(struct near_call *call, uint64_t *a)
{
    struct wasm_bytes key;
    bool found = false;

    if (!pay_base(call) || !near_pay(call, call->parameters->wasm_storage_has_key_base) ||
        !take_key(call, a[0], a[1], &key) ||
        !near_pay_each(call, call->parameters->wasm_storage_has_key_byte, key.length) ||
        !look_up(call, key, &found))
        return false;
    a[0] = found;
    return true;
}
