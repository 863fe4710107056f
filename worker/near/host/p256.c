/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/near/host/p256.h"

#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <string.h>

enum { HALF = NEAR_P256_SIGNATURE_SIZE / 2 };

/* Of the curve's group. */
static const uint8_t order[HALF] = {
    0xff, 0xff, 0xff, 0xff, 0x00, 0x00, 0x00, 0x00, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
    0xbc, 0xe6, 0xfa, 0xad, 0xa7, 0x17, 0x9e, 0x84, 0xf3, 0xb9, 0xca, 0xc2, 0xfc, 0x63, 0x25, 0x51};

static bool is_scalar(const uint8_t *number)
{
    static const uint8_t zero[HALF];

    return memcmp(number, zero, HALF) != 0 && memcmp(number, order, HALF) < 0;
}

bool near_p256_is_signature(const uint8_t signature[NEAR_P256_SIGNATURE_SIZE])
{
    return is_scalar(signature) && is_scalar(signature + HALF);
}

/* NULL where the bytes are no key. */
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

/* The signature as OpenSSL wants it, to be given back with OPENSSL_free(). */
static unsigned char *encode(const uint8_t *signature, int *length)
{
    ECDSA_SIG *parsed = ECDSA_SIG_new();
    BIGNUM *r = BN_bin2bn(signature, HALF, NULL), *s = BN_bin2bn(signature + HALF, HALF, NULL);
    unsigned char *encoded = NULL;

    *length = -1;
    if (parsed != NULL && r != NULL && s != NULL && ECDSA_SIG_set0(parsed, r, s) == 1) {
        r = s = NULL; /* they are the signature's now */
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
