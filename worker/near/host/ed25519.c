/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nothing of libsodium that is called here needs sodium_init(), which would ask for chance and
 * look at the processor.
 */
#include "worker/near/host/ed25519.h"

#include <sodium.h>
#include <string.h>

enum { POINT = crypto_core_ed25519_BYTES, SCALAR = crypto_core_ed25519_SCALARBYTES };

/* Of the group, least byte first. */
static const uint8_t order[SCALAR] = {
    0xed, 0xd3, 0xf5, 0x5c, 0x1a, 0x63, 0x12, 0x58, 0xd6, 0x9c, 0xf7, 0xa2, 0xde, 0xf9, 0xde, 0x14,
    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0x10};

static bool is_below_order(const uint8_t *scalar)
{
    for (int i = SCALAR - 1; i >= 0; i--)
        if (scalar[i] != order[i])
            return scalar[i] < order[i];
    return false;
}

/* The hash of R, key and message, as a scalar. */
static void challenge(const uint8_t *signature, const uint8_t *message, size_t length,
                      const uint8_t *key, uint8_t scalar[SCALAR])
{
    uint8_t hash[crypto_hash_sha512_BYTES];
    crypto_hash_sha512_state state;

    crypto_hash_sha512_init(&state);
    crypto_hash_sha512_update(&state, signature, POINT);
    crypto_hash_sha512_update(&state, key, POINT);
    crypto_hash_sha512_update(&state, message, length);
    crypto_hash_sha512_final(&state, hash);
    crypto_core_ed25519_scalar_reduce(scalar, hash);
}

static void set_zero(uint8_t point[POINT])
{
    memset(point, 0, POINT);
    point[0] = 1;
}

/* 0 to 8 times a point that may be of any order, and written in any way; false where the bytes are
 * no point. */
static bool multiply_little(unsigned times, const uint8_t *point, uint8_t product[POINT])
{
    set_zero(product);
    if (crypto_core_ed25519_add(product, product, point) != 0)
        return false;
    set_zero(product);
    for (unsigned bit = 8; bit > 0; bit /= 2) {
        if (bit < times) /* twice zero is known */
            (void)crypto_core_ed25519_add(product, product, product);
        if ((times & bit) != 0)
            (void)crypto_core_ed25519_add(product, product, point);
    }
    return true;
}

/*
 * The same for any scalar: 8 q + r times the point. Eight times any point lies in the group that
 * libsodium multiplies in; where it fails there, the product is zero.
 */
static bool multiply(const uint8_t *scalar, const uint8_t *point, uint8_t product[POINT])
{
    uint8_t eighth[SCALAR], eightfold[POINT], rest[POINT];

    for (int i = 0; i < SCALAR; i++)
        eighth[i] = (uint8_t)(scalar[i] >> 3 | (i + 1 < SCALAR ? scalar[i + 1] << 5 : 0));
    if (!multiply_little(scalar[0] & 7, point, rest) || !multiply_little(8, point, eightfold))
        return false;
    if (crypto_scalarmult_ed25519_noclamp(product, eighth, eightfold) != 0)
        set_zero(product);
    return crypto_core_ed25519_add(product, product, rest) == 0;
}

/* The equation itself, which takes a few times what libsodium's own takes. */
static bool holds(const uint8_t *signature, const uint8_t *message, size_t length,
                  const uint8_t *key)
{
    uint8_t scalar[SCALAR], left[POINT], right[POINT];

    challenge(signature, message, length, key, scalar);
    if (!multiply(scalar, key, right))
        return false;
    /* It fails for [0]B, and writes it all the same. */
    (void)crypto_scalarmult_ed25519_base_noclamp(left, signature + POINT);
    return crypto_core_ed25519_sub(left, left, right) == 0 && memcmp(left, signature, POINT) == 0;
}

/* Whether eight times the point is the group's zero, or the bytes are written otherwise than
 * libsodium takes them. */
static bool is_special(const uint8_t *point)
{
    uint8_t zero[POINT] = {1}, product[POINT], same[POINT];

    if (crypto_core_ed25519_add(same, zero, point) != 0)
        return false;
    return memcmp(same, point, POINT) != 0 || !multiply_little(8, point, product) ||
           memcmp(product, zero, POINT) == 0;
}

bool near_ed25519_verify(const uint8_t signature[NEAR_ED25519_SIGNATURE_SIZE],
                         const uint8_t *message, size_t length,
                         const uint8_t key[NEAR_ED25519_KEY_SIZE])
{
    static const uint8_t nothing;

    if (!is_below_order(signature + POINT))
        return false;
    if (length == 0)
        message = &nothing;
    if (crypto_sign_ed25519_verify_detached(signature, message, length, key) == 0)
        return true;
    /* R is compared as bytes: it has to be written in the one way, and only its order counts. */
    return (is_special(key) || is_special(signature)) && holds(signature, message, length, key);
}
