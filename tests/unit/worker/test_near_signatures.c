/* SPDX-License-Identifier: Apache-2.0 */
/* Accepts the signatures that nearcore's libraries accept: worker/near/host/host.h. */
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <setjmp.h>
#include <sodium.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "worker/near/host/host.h"

/* ---- ed25519: the numbers of nearcore's logic/tests/ed25519_verify.rs ---- */

static const uint8_t signature[NEAR_ED25519_SIGNATURE_SIZE] = {
    145, 193, 203, 18,  114, 227, 14,  117, 33,  213, 121, 66,  130, 14,  25,  4,
    36,  120, 46,  142, 226, 215, 7,   66,  122, 112, 97,  30,  249, 135, 61,  165,
    221, 249, 252, 23,  105, 40,  56,  70,  31,  152, 236, 141, 154, 122, 207, 20,
    75,  118, 79,  90,  168, 6,   221, 122, 213, 29,  126, 196, 216, 104, 191, 6};
static const uint8_t key[NEAR_ED25519_KEY_SIZE] = {
    32,  122, 6,   120, 146, 130, 30, 37,  215, 112, 241, 251, 160, 196, 124, 17,
    255, 75,  129, 62,  84,  22,  46, 206, 158, 184, 57,  224, 118, 35,  26,  182};
static const uint8_t message[] = "kajdlfkjalkfjaklfjdkladjfkljadsk";
enum { MESSAGE_SIZE = sizeof message - 1 };

static void ed25519_is_nearcores(void **state)
{
    static const uint8_t ones[NEAR_ED25519_SIGNATURE_SIZE] = {[0 ... 63] = 1};
    uint8_t forged[NEAR_ED25519_KEY_SIZE];

    (void)state;
    assert_true(near_ed25519_verify(signature, message, MESSAGE_SIZE, key));
    assert_false(near_ed25519_verify(ones, message, MESSAGE_SIZE, key));
    assert_false(near_ed25519_verify(signature, message, 0, key));
    assert_false(near_ed25519_verify(signature, message, MESSAGE_SIZE - 1, key));
    memcpy(forged, key, sizeof forged);
    forged[31] = 0xe1;
    assert_false(near_ed25519_verify(signature, message, MESSAGE_SIZE, forged));
}

/* libsodium refuses keys and R of small order, whose signatures can be forged. ed25519-dalek's
 * verify() does not. */
static void small_orders_are_no_exception(void **state)
{
    static const uint8_t identity[NEAR_ED25519_KEY_SIZE] = {1};
    static const uint8_t of_order_four[NEAR_ED25519_KEY_SIZE]; /* y = 0 */
    uint8_t trivial[NEAR_ED25519_SIGNATURE_SIZE] = {1};

    (void)state;
    assert_true(near_ed25519_verify(trivial, message, MESSAGE_SIZE, identity));
    assert_true(near_ed25519_verify(trivial, message, 0, identity));
    /* [k]A comes out as zero for a fourth of all messages. */
    unsigned valid = 0;
    for (unsigned i = 0; i < 64; i++) {
        const uint8_t text = (uint8_t)i;

        valid += near_ed25519_verify(trivial, &text, 1, of_order_four);
    }
    assert_in_range(valid, 4, 32);
    /* The same R, written with a sign that zero does not have, is not what comes out. */
    trivial[31] = 0x80;
    assert_false(near_ed25519_verify(trivial, message, MESSAGE_SIZE, identity));
}

/* The same point with the group's order added to s is refused, or signatures could be changed. */
static void s_is_below_the_order(void **state)
{
    static const uint8_t order[] = {0xed, 0xd3, 0xf5, 0x5c, 0x1a, 0x63, 0x12, 0x58,
                                    0xd6, 0x9c, 0xf7, 0xa2, 0xde, 0xf9, 0xde, 0x14};
    uint8_t changed[NEAR_ED25519_SIGNATURE_SIZE];
    unsigned carry = 0;

    (void)state;
    memcpy(changed, signature, sizeof changed);
    for (unsigned i = 0; i < 32; i++) {
        carry += changed[32 + i] + (i < sizeof order ? order[i] : i == 31 ? 0x10u : 0u);
        changed[32 + i] = (uint8_t)carry;
        carry >>= 8;
    }
    assert_false(near_ed25519_verify(changed, message, MESSAGE_SIZE, key));
}

/* Microseconds of the thread's CPU time that the fastest of some refusals takes. */
static int64_t time_of_refusal(const uint8_t *odd)
{
    int64_t least = INT64_MAX;

    for (int turn = 0; turn < 5; turn++) {
        struct timespec from, to;
        int64_t taken;

        assert_int_equal(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from), 0);
        for (int i = 0; i < 4; i++)
            assert_false(near_ed25519_verify(signature, message, MESSAGE_SIZE, odd));
        assert_int_equal(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &to), 0);
        taken = (to.tv_sec - from.tv_sec) * 1000000 + (to.tv_nsec - from.tv_nsec) / 1000;
        least = taken < least ? taken : least;
    }
    return least;
}

/* Keys that libsodium refuses cost no more gas than others. Checked step by step, such a signature
 * would take 120 times as long as another; it takes about 7 times. */
static void odd_keys_take_a_few_times_as_long_as_others(void **state)
{
    uint8_t other[NEAR_ED25519_KEY_SIZE], odd[NEAR_ED25519_KEY_SIZE];

    (void)state;
    /* A point with y = 3, which is of large order, written with y + 2^255 - 19. */
    memset(odd, 0xff, sizeof odd);
    odd[0] = 0xed + 3;
    odd[31] = 0x7f;
    crypto_sign_seed_keypair(other, (uint8_t[crypto_sign_SECRETKEYBYTES]){0}, odd);
    assert_in_range(time_of_refusal(odd), 1, 30 * (time_of_refusal(other) + 1));
}

/* ---- P-256 ---- */

/* A key of OpenSSL's, compressed, and its signature of the message, r and s. */
static void sign(uint8_t made[NEAR_P256_SIGNATURE_SIZE], uint8_t public[NEAR_P256_KEY_SIZE])
{
    EVP_PKEY *pair = EVP_EC_gen("prime256v1");
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    unsigned char encoded[80], point[65];
    const unsigned char *at = encoded;
    size_t length = sizeof encoded, point_length;
    ECDSA_SIG *parsed;

    assert_int_equal(EVP_DigestSignInit(context, NULL, EVP_sha256(), NULL, pair), 1);
    assert_int_equal(EVP_DigestSign(context, encoded, &length, message, MESSAGE_SIZE), 1);
    parsed = d2i_ECDSA_SIG(NULL, &at, (long)length);
    assert_non_null(parsed);
    assert_int_equal(BN_bn2binpad(ECDSA_SIG_get0_r(parsed), made, 32), 32);
    assert_int_equal(BN_bn2binpad(ECDSA_SIG_get0_s(parsed), made + 32, 32), 32);
    assert_int_equal(
        EVP_PKEY_get_octet_string_param(pair, "pub", point, sizeof point, &point_length), 1);
    public[0] = (uint8_t)(2 + (point[64] & 1));
    memcpy(public + 1, point + 1, 32);
    ECDSA_SIG_free(parsed);
    EVP_MD_CTX_free(context);
    EVP_PKEY_free(pair);
}

static void p256_takes_what_openssl_signs(void **state)
{
    static const uint8_t zeros[NEAR_P256_SIGNATURE_SIZE];
    uint8_t made[NEAR_P256_SIGNATURE_SIZE], public[NEAR_P256_KEY_SIZE];

    (void)state;
    sign(made, public);
    assert_true(near_p256_is_signature(made));
    assert_true(near_p256_verify(made, message, MESSAGE_SIZE, public));
    assert_false(near_p256_verify(made, message, MESSAGE_SIZE - 1, public));
    made[40] ^= 1;
    assert_false(near_p256_verify(made, message, MESSAGE_SIZE, public));
    made[40] ^= 1;
    public[0] ^= 1; /* the other point of that x */
    assert_false(near_p256_verify(made, message, MESSAGE_SIZE, public));
    memset(public, 0, sizeof public);
    assert_false(near_p256_verify(made, message, MESSAGE_SIZE, public));
    assert_false(near_p256_is_signature(zeros));
    memset(made + 32, 0xff, 32);
    assert_false(near_p256_is_signature(made));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ed25519_is_nearcores),
        cmocka_unit_test(small_orders_are_no_exception),
        cmocka_unit_test(s_is_below_the_order),
        cmocka_unit_test(odd_keys_take_a_few_times_as_long_as_others),
        cmocka_unit_test(p256_takes_what_openssl_signs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
