/* SPDX-License-Identifier: Apache-2.0 */

#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <secp256k1_recovery.h>
#include <sodium.h>
#include <string.h>

#include "worker/near/host/host.h"

/* ---- Keccak ---- */

enum { LANES = 25, ROUNDS = 24, STATE_BYTES = 200 };

/* Constants of the Keccak reference, version 3.0, section 1.2. */
static const uint64_t round_constants[ROUNDS] = {
    0x0000000000000001, 0x0000000000008082, 0x800000000000808a, 0x8000000080008000,
    0x000000000000808b, 0x0000000080000001, 0x8000000080008081, 0x8000000000008009,
    0x000000000000008a, 0x0000000000000088, 0x0000000080008009, 0x000000008000000a,
    0x000000008000808b, 0x800000000000008b, 0x8000000000008089, 0x8000000000008003,
    0x8000000000008002, 0x8000000000000080, 0x000000000000800a, 0x800000008000000a,
    0x8000000080008081, 0x8000000000008080, 0x0000000080000001, 0x8000000080008008,
};

static uint64_t rotate(uint64_t lane, unsigned by)
{
    return by == 0 ? lane : lane << by | lane >> (64 - by);
}

static void theta(uint64_t *a)
{
    uint64_t column[5];

    for (unsigned x = 0; x < 5; x++)
        column[x] = a[x] ^ a[x + 5] ^ a[x + 10] ^ a[x + 15] ^ a[x + 20];
    for (unsigned i = 0; i < LANES; i++)
        a[i] ^= column[(i + 4) % 5] ^ rotate(column[(i + 1) % 5], 1);
}

/* rho and pi: rotates each lane and moves it. */
static void rho_pi(uint64_t *a)
{
    uint64_t lane = a[1];
    unsigned x = 1, y = 0, turn = 0;

    for (unsigned t = 0; t < ROUNDS; t++) {
        const unsigned next = (2 * x + 3 * y) % 5;
        uint64_t kept;

        turn += t + 1;
        x = y;
        y = next;
        kept = a[x + 5 * y];
        a[x + 5 * y] = rotate(lane, turn % 64);
        lane = kept;
    }
}

static void chi(uint64_t *a)
{
    for (unsigned row = 0; row < LANES; row += 5) {
        uint64_t b[5];

        memcpy(b, a + row, sizeof b);
        for (unsigned x = 0; x < 5; x++)
            a[row + x] = b[x] ^ (~b[(x + 1) % 5] & b[(x + 2) % 5]);
    }
}

static void permute(uint64_t *a)
{
    for (unsigned round = 0; round < ROUNDS; round++) {
        theta(a);
        rho_pi(a);
        chi(a);
        a[0] ^= round_constants[round];
    }
}

static void absorb(uint64_t *a, const uint8_t *block, size_t rate)
{
    for (size_t i = 0; i < rate; i++)
        a[i / 8] ^= (uint64_t)block[i] << (8 * (i % 8));
    permute(a);
}

/* Keccak as in Ethereum, before NIST changed the padding for SHA-3. `size` of the hash: 32 or
 * 64. */
static void near_keccak(const uint8_t *bytes, size_t length, uint8_t *hash, size_t size)
{
    const size_t rate = STATE_BYTES - 2 * size;
    uint64_t a[LANES] = {0};
    uint8_t last[STATE_BYTES] = {0};

    for (; length >= rate; bytes += rate, length -= rate)
        absorb(a, bytes, rate);
    if (length != 0)
        memcpy(last, bytes, length);
    last[length] = 0x01;
    last[rate - 1] |= 0x80;
    absorb(a, last, rate);
    for (size_t i = 0; i < size; i++)
        hash[i] = (uint8_t)(a[i / 8] >> (8 * (i % 8)));
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

    return near_pay(call, NEAR_COST_sha256_base) && near_take(call, a[0], a[1], &bytes) &&
           near_pay_each(call, NEAR_COST_sha256_byte, bytes.length) &&
           digest(call, a[2], bytes, EVP_sha256());
}

/* SHA-3 of FIPS 202. */
static bool sha3(struct near_call *call, const uint64_t *a, enum near_cost base,
                 enum near_cost byte, const EVP_MD *kind)
{
    struct wasm_bytes bytes;

    return near_pay(call, base) && near_take(call, a[0], a[1], &bytes) &&
           near_pay_each(call, byte, bytes.length) && digest(call, a[2], bytes, kind);
}

bool near_host_sha3_256(struct near_call *call, uint64_t *a)
{
    return sha3(call, a, NEAR_COST_sha3_256_base, NEAR_COST_sha3_256_byte, EVP_sha3_256());
}

bool near_host_sha3_384(struct near_call *call, uint64_t *a)
{
    return sha3(call, a, NEAR_COST_sha3_384_base, NEAR_COST_sha3_384_byte, EVP_sha3_384());
}

bool near_host_sha3_512(struct near_call *call, uint64_t *a)
{
    return sha3(call, a, NEAR_COST_sha3_512_base, NEAR_COST_sha3_512_byte, EVP_sha3_512());
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

/* Here every contract is deployed at its own account: 1, and the hash of its code. */
bool near_host_current_contract_code(struct near_call *call, uint64_t *a)
{
    enum { NONE = 0, LOCAL = 1 };
    const struct wasm_module *module = call->instance->module;
    const uint64_t id = a[0];
    struct wasm_bytes code;

    if (!near_pay(call, NEAR_COST_base))
        return false;
    a[0] = NONE;
    if (module == NULL)
        return true;
    a[0] = LOCAL;
    code.data = module->bytes;
    code.length = (uint32_t)module->length;
    return digest(call, id, code, EVP_sha256());
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

/* ---- Ed25519 ---- */

/* These libsodium functions need no sodium_init(), which would read random numbers and CPU
 * features. */

enum { POINT = crypto_core_ed25519_BYTES, SCALAR = crypto_core_ed25519_SCALARBYTES };

/* The group's order, least significant byte first. */
static const uint8_t ed25519_order[SCALAR] = {
    0xed, 0xd3, 0xf5, 0x5c, 0x1a, 0x63, 0x12, 0x58, 0xd6, 0x9c, 0xf7, 0xa2, 0xde, 0xf9, 0xde, 0x14,
    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0x10};

static bool is_below_order(const uint8_t *scalar)
{
    for (int i = SCALAR - 1; i >= 0; i--)
        if (scalar[i] != ed25519_order[i])
            return scalar[i] < ed25519_order[i];
    return false;
}

/* Hashes R, key and message into a scalar. */
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

/* Multiplies a point of any order and encoding by 0 to 8; false if the bytes are not a point. */
static bool multiply_little(unsigned times, const uint8_t *point, uint8_t product[POINT])
{
    set_zero(product);
    if (crypto_core_ed25519_add(product, product, point) != 0)
        return false;
    set_zero(product);
    for (unsigned bit = 8; bit > 0; bit /= 2) {
        if (bit < times) /* else the product is still zero */
            (void)crypto_core_ed25519_add(product, product, product);
        if ((times & bit) != 0)
            (void)crypto_core_ed25519_add(product, product, point);
    }
    return true;
}

/* Multiplies by any scalar, as 8 q + r. Eight times any point lies in the group in which
 * libsodium multiplies; if that fails, the product is zero. */
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

/* Checks the equation itself, which is several times slower than libsodium's check. */
static bool holds(const uint8_t *signature, const uint8_t *message, size_t length,
                  const uint8_t *key)
{
    uint8_t scalar[SCALAR], left[POINT], right[POINT];

    challenge(signature, message, length, key, scalar);
    if (!multiply(scalar, key, right))
        return false;
    /* The function reports failure for [0]B, but writes the right value. */
    (void)crypto_scalarmult_ed25519_base_noclamp(left, signature + POINT);
    return crypto_core_ed25519_sub(left, left, right) == 0 && memcmp(left, signature, POINT) == 0;
}

/* Returns true for points that libsodium refuses: of small order, or in another encoding. */
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
    /* R is compared as bytes, so it must have the one encoding; only its order needs the check. */
    return (is_special(key) || is_special(signature)) && holds(signature, message, length, key);
}

/* ---- P-256 ---- */

enum { HALF = NEAR_P256_SIGNATURE_SIZE / 2 };

/* The group's order. */
static const uint8_t p256_order[HALF] = {
    0xff, 0xff, 0xff, 0xff, 0x00, 0x00, 0x00, 0x00, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
    0xbc, 0xe6, 0xfa, 0xad, 0xa7, 0x17, 0x9e, 0x84, 0xf3, 0xb9, 0xca, 0xc2, 0xfc, 0x63, 0x25, 0x51};

static bool is_scalar(const uint8_t *number)
{
    static const uint8_t zero[HALF];

    return memcmp(number, zero, HALF) != 0 && memcmp(number, p256_order, HALF) < 0;
}

bool near_p256_is_signature(const uint8_t signature[NEAR_P256_SIGNATURE_SIZE])
{
    return is_scalar(signature) && is_scalar(signature + HALF);
}

/* Returns NULL if the bytes are not a key. */
static EVP_PKEY *read_key(const uint8_t *key)
{
    const OSSL_PARAM parameters[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_PKEY_PARAM_GROUP_NAME, "prime256v1", 0),
        OSSL_PARAM_construct_octet_string(OSSL_PKEY_PARAM_PUB_KEY, (void *)key, NEAR_P256_KEY_SIZE),
        OSSL_PARAM_END,
    };
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_name(NULL, "EC", NULL);
    EVP_PKEY *made = NULL;

    if (context == NULL || EVP_PKEY_fromdata_init(context) != 1 ||
        EVP_PKEY_fromdata(context, &made, EVP_PKEY_PUBLIC_KEY, (OSSL_PARAM *)parameters) != 1)
        made = NULL;
    EVP_PKEY_CTX_free(context);
    return made;
}

/* Encodes the signature for OpenSSL; free it with OPENSSL_free(). */
static unsigned char *encode(const uint8_t *signature, int *length)
{
    ECDSA_SIG *parsed = ECDSA_SIG_new();
    BIGNUM *r = BN_bin2bn(signature, HALF, NULL), *s = BN_bin2bn(signature + HALF, HALF, NULL);
    unsigned char *encoded = NULL;

    *length = -1;
    if (parsed != NULL && r != NULL && s != NULL && ECDSA_SIG_set0(parsed, r, s) == 1) {
        r = s = NULL; /* the signature owns them now */
        *length = i2d_ECDSA_SIG(parsed, &encoded);
    }
    BN_free(r);
    BN_free(s);
    ECDSA_SIG_free(parsed);
    return encoded;
}

bool near_p256_verify(const uint8_t signature[NEAR_P256_SIGNATURE_SIZE], const uint8_t *message,
                      size_t length, const uint8_t key[NEAR_P256_KEY_SIZE])
{
    int encoded_length;
    unsigned char *encoded = encode(signature, &encoded_length);
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    EVP_PKEY *made = read_key(key);
    const bool is_valid =
        encoded_length > 0 && context != NULL && made != NULL &&
        EVP_DigestVerifyInit(context, NULL, EVP_sha256(), NULL, made) == 1 &&
        EVP_DigestVerify(context, encoded, (size_t)encoded_length, message, length) == 1;

    EVP_PKEY_free(made);
    EVP_MD_CTX_free(context);
    OPENSSL_free(encoded);
    return is_valid;
}

/* ---- signatures ---- */

/* Verifies signatures as nearcore's libraries do. */

enum { SIGNATURE_SIZE = 64, HASH_SIZE = 32 };

static bool answer_validity(uint64_t *a, bool is_valid)
{
    a[0] = is_valid;
    return true;
}

/* ---- ecrecover(hash, signature, v, refuse malleable ones, register) ---- */

/* The group's order, and half of it plus one. */
static const uint8_t secp256k1_order[HASH_SIZE] = {
    0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe,
    0xba, 0xae, 0xdc, 0xe6, 0xaf, 0x48, 0xa0, 0x3b, 0xbf, 0xd2, 0x5e, 0x8c, 0xd0, 0x36, 0x41, 0x41};
static const uint8_t upper_half[HASH_SIZE] = {
    0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
    0x5d, 0x57, 0x6e, 0x73, 0x57, 0xa4, 0x50, 0x1d, 0xdf, 0xe9, 0x2f, 0x46, 0x68, 0x1b, 0x20, 0xa1};

static bool is_number_below(const uint8_t *number, const uint8_t *limit)
{
    return memcmp(number, limit, HASH_SIZE) < 0;
}

/* Recovers the public key, without the leading byte that says its encoding. */
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
    if (!is_number_below(signature.data, secp256k1_order) ||
        !is_number_below(signature.data + HASH_SIZE, flag != 0 ? upper_half : secp256k1_order) ||
        !recover(signature.data, (int)v, hash.data, key))
        return answer_validity(a, false);
    return near_register_set(call, id, key, sizeof key) && answer_validity(a, true);
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
        return answer_validity(a, false);
    if (!near_take(call, a[2], a[3], &message) ||
        !near_pay_each(call, NEAR_COST_ed25519_verify_byte, message.length) ||
        !near_take(call, a[4], a[5], &key))
        return false;
    if (key.length != NEAR_ED25519_KEY_SIZE)
        return near_fail(call, "ED25519 signature verification error: invalid public key length");
    return answer_validity(
        a, near_ed25519_verify(signature.data, message.data, message.length, key.data));
}

bool near_host_p256_verify(struct near_call *call, uint64_t *a)
{
    struct wasm_bytes signature, message, key;

    if (!near_pay(call, NEAR_COST_p256_verify_base) || !near_take(call, a[0], a[1], &signature))
        return false;
    if (signature.length != SIGNATURE_SIZE)
        return near_fail(call, "P256 signature verification error: invalid signature length");
    if (!near_p256_is_signature(signature.data))
        return answer_validity(a, false);
    if (!near_take(call, a[2], a[3], &message) ||
        !near_pay_each(call, NEAR_COST_p256_verify_byte, message.length) ||
        !near_take(call, a[4], a[5], &key))
        return false;
    if (key.length != NEAR_P256_KEY_SIZE)
        return near_fail(call, "P256 signature verification error: invalid public key length");
    return answer_validity(
        a, near_p256_verify(signature.data, message.data, message.length, key.data));
}
