/* SPDX-License-Identifier: Apache-2.0 */
/* Signatures, judged as by the libraries that nearcore uses. */
#include <secp256k1_recovery.h>
#include <string.h>

#include "worker/near/host/ed25519.h"
#include "worker/near/host/host_functions.h"
#include "worker/near/host/p256.h"

enum { SIGNATURE_SIZE = 64, HASH_SIZE = 32 };

static bool answer(uint64_t *a, bool is_valid)
{
    a[0] = is_valid;
    return true;
}

/* ---- ecrecover(hash, signature, v, refuse malleable ones, register) ---- */

/* The order of the curve's group, and one more than half of it. */
static const uint8_t order[HASH_SIZE] = {
    0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe,
    0xba, 0xae, 0xdc, 0xe6, 0xaf, 0x48, 0xa0, 0x3b, 0xbf, 0xd2, 0x5e, 0x8c, 0xd0, 0x36, 0x41, 0x41};
static const uint8_t upper_half[HASH_SIZE] = {
    0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
    0x5d, 0x57, 0x6e, 0x73, 0x57, 0xa4, 0x50, 0x1d, 0xdf, 0xe9, 0x2f, 0x46, 0x68, 0x1b, 0x20, 0xa1};

static bool is_below(const uint8_t *number, const uint8_t *limit)
{
    return memcmp(number, limit, HASH_SIZE) < 0;
}

/* The public key without the byte in front that says how it is written. */
static bool recover(const uint8_t *signature, int v, const uint8_t *hash, uint8_t key[64])
{
    const secp256k1_context *context = secp256k1_context_static;
    secp256k1_ecdsa_recoverable_signature parsed;
    secp256k1_pubkey found;
    uint8_t text[65];
    size_t size = sizeof text;

    if (secp256k1_ecdsa_recoverable_signature_parse_compact(context, &parsed, signature, v) != 1 ||
        secp256k1_ecdsa_recover(context, &found, &parsed, hash) != 1)
        return false;
    (void)secp256k1_ec_pubkey_serialize(context, text, &size, &found, SECP256K1_EC_UNCOMPRESSED);
    memcpy(key, text + 1, sizeof text - 1);
    return true;
}

static bool recover_fails(struct near_call *call, const char *what, unsigned long long value,
                          const char *rest)
{
    return near_fail(call, "ECDSA recover error: %s%llu%s", what, value, rest);
}

bool near_host_ecrecover(struct near_call *call, uint64_t *a)
{
    const uint64_t v = a[4], flag = a[5], id = a[6];
    struct wasm_bytes hash, signature;
    uint8_t key[64];

    if (!near_pay(call, NEAR_COST_ecrecover_base) || !near_take(call, a[2], a[3], &signature))
        return false;
    if (signature.length != SIGNATURE_SIZE)
        return recover_fails(call, "The length of the signature: ", signature.length,
                             ", exceeds the limit of 64 bytes");
    if (v > 3)
        return recover_fails(call, "V recovery byte 0 through 3 are valid but was provided ", v,
                             "");
    if (!near_take(call, a[0], a[1], &hash))
        return false;
    if (hash.length != HASH_SIZE)
        return recover_fails(call, "The length of the hash: ", hash.length,
                             ", exceeds the limit of 32 bytes");
    if (flag > 1)
        return recover_fails(call, "Malleability flag needs to be 0 or 1, but is instead ", flag,
                             "");
    if (!is_below(signature.data, order) ||
        !is_below(signature.data + HASH_SIZE, flag != 0 ? upper_half : order) ||
        !recover(signature.data, (int)v, hash.data, key))
        return answer(a, false);
    return near_register_set(call, id, key, sizeof key) && answer(a, true);
}

/* ---- the others: verify(signature, message, key) ---- */

bool near_host_ed25519_verify(struct near_call *call, uint64_t *a)
{
    struct wasm_bytes signature, message, key;

    if (!near_pay(call, NEAR_COST_ed25519_verify_base) || !near_take(call, a[0], a[1], &signature))
        return false;
    if (signature.length != SIGNATURE_SIZE)
        return near_fail(call, "ED25519 signature verification error: invalid signature length");
    if ((signature.data[SIGNATURE_SIZE - 1] & 0xe0) != 0)
        return answer(a, false);
    if (!near_take(call, a[2], a[3], &message) ||
        !near_pay_each(call, NEAR_COST_ed25519_verify_byte, message.length) ||
        !near_take(call, a[4], a[5], &key))
        return false;
    if (key.length != NEAR_ED25519_KEY_SIZE)
        return near_fail(call, "ED25519 signature verification error: invalid public key length");
    return answer(a, near_ed25519_verify(signature.data, message.data, message.length, key.data));
}

bool near_host_p256_verify(struct near_call *call, uint64_t *a)
{
    struct wasm_bytes signature, message, key;

    if (!near_pay(call, NEAR_COST_p256_verify_base) || !near_take(call, a[0], a[1], &signature))
        return false;
    if (signature.length != SIGNATURE_SIZE)
        return near_fail(call, "P256 signature verification error: invalid signature length");
    if (!near_p256_is_signature(signature.data))
        return answer(a, false);
    if (!near_take(call, a[2], a[3], &message) ||
        !near_pay_each(call, NEAR_COST_p256_verify_byte, message.length) ||
        !near_take(call, a[4], a[5], &key))
        return false;
    if (key.length != NEAR_P256_KEY_SIZE)
        return near_fail(call, "P256 signature verification error: invalid public key length");
    return answer(a, near_p256_verify(signature.data, message.data, message.length, key.data));
}
