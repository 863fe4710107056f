/* SPDX-License-Identifier: Apache-2.0 */
#include <openssl/evp.h>
#include <string.h>

#include "worker/near/host/host_functions.h"
#include "worker/near/host/keccak.h"

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

    return near_pay(call, NEAR_COST_sha256_base) && near_take(call, a[0], a[1], &bytes) &&
           near_pay_each(call, NEAR_COST_sha256_byte, bytes.length) &&
           digest(call, a[2], bytes, EVP_sha256());
}

bool near_host_keccak256(struct near_call *call, uint64_t *a)
{
    struct wasm_bytes bytes;
    uint8_t hash[32];

    if (!near_pay(call, NEAR_COST_keccak256_base) || !near_take(call, a[0], a[1], &bytes) ||
        !near_pay_each(call, NEAR_COST_keccak256_byte, bytes.length))
        return false;
    near_keccak(bytes.data, bytes.length, hash, sizeof hash);
    return near_register_set(call, a[2], hash, sizeof hash);
}

bool near_host_keccak512(struct near_call *call, uint64_t *a)
{
    struct wasm_bytes bytes;
    uint8_t hash[64];

    if (!near_pay(call, NEAR_COST_keccak512_base) || !near_take(call, a[0], a[1], &bytes) ||
        !near_pay_each(call, NEAR_COST_keccak512_byte, bytes.length))
        return false;
    near_keccak(bytes.data, bytes.length, hash, sizeof hash);
    return near_register_set(call, a[2], hash, sizeof hash);
}

bool near_host_ripemd160(struct near_call *call, uint64_t *a)
{
    enum { BLOCK = 64, PADDING = 8 };
    struct wasm_bytes bytes;

    if (!near_pay(call, NEAR_COST_ripemd160_base) || !near_take(call, a[0], a[1], &bytes))
        return false;
    return near_pay_each(call, NEAR_COST_ripemd160_block,
                         ((uint64_t)bytes.length + PADDING) / BLOCK + 1) &&
           digest(call, a[2], bytes, EVP_ripemd160());
}
