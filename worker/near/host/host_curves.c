/* SPDX-License-Identifier: Apache-2.0 */

#include <blst.h>
#include <string.h>

#include "base/buf.h"
#include "worker/near/curve/bn254.h"
#include "worker/near/host/host.h"

/* Sums, products and pairings of points, as nearcore's logic/alt_bn128.rs and logic/bls12381.rs
 * check and pay for them. */

/* ---- alt_bn128 ---- */

/* Pays for the input's items of `size` bytes. */
static bool bn254_take(struct near_call *call, const uint64_t *a, uint32_t size,
                       enum near_cost base, enum near_cost each, struct wasm_bytes *items)
{
    if (!near_pay(call, base) || !near_take(call, a[0], a[1], items))
        return false;
    if (items->length % size != 0)
        return near_fail(call,
                         "AltBn128 invalid input: slice of size %u cannot be precisely split into "
                         "chunks of size %u",
                         items->length, size);
    return near_pay_each(call, each, items->length / size);
}

static bool bn254_fail(struct near_call *call, const struct bn254_fault *fault)
{
    struct buf list = {0};
    bool result;

    for (size_t i = 0; i < fault->length; i++)
        buf_printf(&list, i == 0 ? "%X" : ", %X", fault->bytes[i]);
    result = buf_string(&list) != NULL
                 ? near_fail(call, "AltBn128 invalid input: %s: [%s]", fault->what, list.data)
                 : near_no_memory(call);
    buf_free(&list);
    return result;
}

static bool bn254_give(struct near_call *call, uint64_t id, const struct bn254_point *point)
{
    uint8_t bytes[BN254_G1];

    bn254_write_g1(point, bytes);
    return near_register_set(call, id, bytes, sizeof bytes);
}

/* The scalar is judged after the point, before the next item. */
bool near_host_alt_bn128_g1_multiexp(struct near_call *call, uint64_t *a)
{
    enum { ITEM = BN254_G1 + BN254_NUMBER };
    struct bn254_point sum = {0}, point;
    struct bn254_fault fault;
    struct wasm_bytes items;

    if (!bn254_take(call, a, ITEM, NEAR_COST_alt_bn128_g1_multiexp_base,
                    NEAR_COST_alt_bn128_g1_multiexp_element, &items))
        return false;
    for (uint32_t at = 0; at < items.length; at += ITEM) {
        if (!bn254_read_g1(items.data + at, &point, &fault) ||
            !bn254_multiply(&point, &point, items.data + at + BN254_G1, &fault))
            return bn254_fail(call, &fault);
        bn254_add(&sum, &sum, &point);
    }
    return bn254_give(call, a[2], &sum);
}

bool near_host_alt_bn128_g1_sum(struct near_call *call, uint64_t *a)
{
    enum { ITEM = 1 + BN254_G1 };
    struct bn254_point sum = {0}, point;
    struct bn254_fault fault;
    struct wasm_bytes items;

    if (!bn254_take(call, a, ITEM, NEAR_COST_alt_bn128_g1_sum_base,
                    NEAR_COST_alt_bn128_g1_sum_element, &items))
        return false;
    for (uint32_t at = 0; at < items.length; at += ITEM) {
        const uint8_t *sign = items.data + at;

        if (*sign > 1)
            return bn254_fail(call, &(struct bn254_fault){"invalid bool", sign, 1});
        if (!bn254_read_g1(sign + 1, &point, &fault))
            return bn254_fail(call, &fault);
        if (*sign == 1)
            bn254_negate(&point);
        bn254_add(&sum, &sum, &point);
    }
    return bn254_give(call, a[2], &sum);
}

bool near_host_alt_bn128_pairing_check(struct near_call *call, uint64_t *a)
{
    enum { ITEM = BN254_G1 + BN254_G2 };
    struct bn254_point g1, g2;
    struct bn254_product product;
    struct bn254_fault fault;
    struct wasm_bytes items;

    if (!bn254_take(call, a, ITEM, NEAR_COST_alt_bn128_pairing_check_base,
                    NEAR_COST_alt_bn128_pairing_check_element, &items))
        return false;
    bn254_pairing_begin(&product);
    for (uint32_t at = 0; at < items.length; at += ITEM) {
        if (!bn254_read_g1(items.data + at, &g1, &fault) ||
            !bn254_read_g2(items.data + at + BN254_G1, &g2, &fault))
            return bn254_fail(call, &fault);
        bn254_pairing_add(&product, &g1, &g2);
    }
    a[0] = bn254_pairing_is_one(&product);
    return true;
}

/* ---- bls12381 ---- */

/* The curve over numbers, and its twist over pairs of numbers; each with its group. */
enum bls_curve { G1, G2 };

enum {
    BLS_NUMBER = 48,
    BLS_SCALAR = 32,
    BLS_POINT = 96,
    BLS_MOST = 192,
    BLS_GOOD = 0,
    BLS_BAD = 1
};

/* Zeros are infinity. */
struct bls_point {
    enum bls_curve curve;
    blst_p1 p1;
    blst_p2 p2;
};

static uint32_t point_size(enum bls_curve curve)
{
    return curve == G1 ? BLS_POINT : 2 * BLS_POINT;
}

/* blst says of (0, ±2) that they are not in the group. nearcore took this for an error in all
 * functions, until a fix where points may be outside of it. */
static bool is_read(const struct near_call *call, BLST_ERROR error)
{
    return error == BLST_SUCCESS ||
           (error == BLST_POINT_NOT_IN_GROUP && call->parameters->bls12381_not_in_group_fix != 0);
}

static bool is_compressed(const uint8_t *bytes)
{
    return (bytes[0] & 0x80) != 0;
}

/* Reads a point of the curve. */
static bool read_point(const struct near_call *call, const uint8_t *bytes, struct bls_point *point)
{
    blst_p1_affine p1;
    blst_p2_affine p2;

    if (is_compressed(bytes))
        return false;
    if (point->curve == G1) {
        if (!is_read(call, blst_p1_deserialize(&p1, bytes)))
            return false;
        blst_p1_from_affine(&point->p1, &p1);
    } else {
        if (!is_read(call, blst_p2_deserialize(&p2, bytes)))
            return false;
        blst_p2_from_affine(&point->p2, &p2);
    }
    return true;
}

static bool is_in_group(const struct bls_point *point)
{
    return point->curve == G1 ? blst_p1_in_g1(&point->p1) : blst_p2_in_g2(&point->p2);
}

static void point_negate(struct bls_point *point)
{
    if (point->curve == G1)
        blst_p1_cneg(&point->p1, true);
    else
        blst_p2_cneg(&point->p2, true);
}

static void point_add(struct bls_point *sum, const struct bls_point *point)
{
    if (point->curve == G1)
        blst_p1_add_or_double(&sum->p1, &sum->p1, &point->p1);
    else
        blst_p2_add_or_double(&sum->p2, &sum->p2, &point->p2);
}

static void point_multiply(struct bls_point *point, const uint8_t *scalar)
{
    const struct bls_point factor = *point;

    if (point->curve == G1)
        blst_p1_mult(&point->p1, &factor.p1, scalar, 8 * BLS_SCALAR);
    else
        blst_p2_mult(&point->p2, &factor.p2, scalar, 8 * BLS_SCALAR);
}

static void put_point(struct buf *bytes, const struct bls_point *point)
{
    uint8_t text[BLS_MOST];

    if (point->curve == G1)
        blst_p1_serialize(text, &point->p1);
    else
        blst_p2_serialize(text, &point->p2);
    buf_append(bytes, text, point_size(point->curve));
}

static bool read_number(const uint8_t *bytes, blst_fp *number)
{
    uint8_t same[BLS_NUMBER];

    blst_fp_from_bendian(number, bytes);
    blst_bendian_from_fp(same, number);
    return memcmp(same, bytes, sizeof same) == 0;
}

/* Appends the result of a function for its items; false if one is bad. */
typedef bool bls_function(const struct near_call *call, enum bls_curve curve,
                          struct wasm_bytes items, struct buf *result);

static bool bls_sum(const struct near_call *call, enum bls_curve curve, struct wasm_bytes items,
                    struct buf *result)
{
    struct bls_point sum = {.curve = curve}, point = {.curve = curve};

    for (uint32_t at = 0; at < items.length; at += 1 + point_size(curve)) {
        const uint8_t *sign = items.data + at;

        if (!read_point(call, sign + 1, &point) || *sign > 1)
            return false;
        if (*sign == 1)
            point_negate(&point);
        point_add(&sum, &point);
    }
    put_point(result, &sum);
    return true;
}

static bool bls_multiexp(const struct near_call *call, enum bls_curve curve,
                         struct wasm_bytes items, struct buf *result)
{
    const uint32_t size = point_size(curve);
    struct bls_point sum = {.curve = curve}, point = {.curve = curve};

    for (uint32_t at = 0; at < items.length; at += size + BLS_SCALAR) {
        if (!read_point(call, items.data + at, &point) || !is_in_group(&point))
            return false;
        point_multiply(&point, items.data + at + size);
        point_add(&sum, &point);
    }
    put_point(result, &sum);
    return true;
}

static bool bls_map(const struct near_call *call, enum bls_curve curve, struct wasm_bytes items,
                    struct buf *result)
{
    const uint32_t size = curve == G1 ? BLS_NUMBER : 2 * BLS_NUMBER;
    struct bls_point point = {.curve = curve};
    blst_fp2 pair; /* the twist's has the factor of u first */

    (void)call;
    for (uint32_t at = 0; at < items.length; at += size) {
        const uint8_t *last = items.data + at + size - BLS_NUMBER;

        if (!read_number(last, &pair.fp[0]) ||
            (curve == G2 && !read_number(items.data + at, &pair.fp[1])))
            return false;
        if (curve == G1)
            blst_map_to_g1(&point.p1, &pair.fp[0], NULL);
        else
            blst_map_to_g2(&point.p2, &pair, NULL);
        put_point(result, &point);
    }
    return true;
}

static bool bls_decompress(const struct near_call *call, enum bls_curve curve,
                           struct wasm_bytes items, struct buf *result)
{
    struct bls_point point = {.curve = curve};
    blst_p1_affine p1;
    blst_p2_affine p2;

    for (uint32_t at = 0; at < items.length; at += point_size(curve) / 2) {
        const uint8_t *bytes = items.data + at;

        if (!is_read(call,
                     curve == G1 ? blst_p1_uncompress(&p1, bytes) : blst_p2_uncompress(&p2, bytes)))
            return false;
        if (curve == G1)
            blst_p1_from_affine(&point.p1, &p1);
        else
            blst_p2_from_affine(&point.p2, &p2);
        put_point(result, &point);
    }
    return true;
}

static bool bls_length(struct near_call *call, const char *name, uint32_t length, uint32_t size)
{
    return length % size == 0 ||
           near_fail(call,
                     "BLS12-381 invalid input: Incorrect input length for bls12381_%s: %u is not "
                     "divisible by %u",
                     name, length, size);
}

/* A function of `curve`. Its items are paid for by the length the contract gives, which for a
 * register is so large that the cost overflows. */
static bool bls_call(struct near_call *call, uint64_t *a, const char *name, bls_function *function,
                     enum bls_curve curve, uint32_t size, enum near_cost base, enum near_cost each)
{
    const uint64_t id = a[2];
    struct wasm_bytes items;
    struct buf bytes = {0};
    bool result = true;

    if (!near_pay(call, base) || !near_pay_each(call, each, a[0] / size) ||
        !near_take(call, a[0], a[1], &items) || !bls_length(call, name, items.length, size))
        return false;
    a[0] = function(call, curve, items, &bytes) ? BLS_GOOD : BLS_BAD;
    if (buf_failed(&bytes))
        result = near_no_memory(call);
    else if (a[0] == BLS_GOOD)
        result = near_register_set(call, id, bytes.data, bytes.length);
    buf_free(&bytes);
    return result;
}

#define BLS_FUNCTION(name, text, function, curve, size)                                            \
    bool near_host_bls12381_##name(struct near_call *call, uint64_t *a)                            \
    {                                                                                              \
        return bls_call(call, a, text, function, curve, size, NEAR_COST_bls12381_##name##_base,    \
                        NEAR_COST_bls12381_##name##_element);                                      \
    }
BLS_FUNCTION(p1_sum, "p1_sum", bls_sum, G1, 1 + BLS_POINT)
BLS_FUNCTION(p2_sum, "p2_sum", bls_sum, G2, 1 + 2 * BLS_POINT)
BLS_FUNCTION(g1_multiexp, "p1_multiexp", bls_multiexp, G1, BLS_POINT + BLS_SCALAR)
BLS_FUNCTION(g2_multiexp, "p2_multiexp", bls_multiexp, G2, 2 * BLS_POINT + BLS_SCALAR)
BLS_FUNCTION(map_fp_to_g1, "map_fp_to_g1", bls_map, G1, BLS_NUMBER)
BLS_FUNCTION(map_fp2_to_g2, "map_fp2_to_g2", bls_map, G2, 2 * BLS_NUMBER)
BLS_FUNCTION(p1_decompress, "p1_decompress", bls_decompress, G1, BLS_POINT / 2)
BLS_FUNCTION(p2_decompress, "p2_decompress", bls_decompress, G2, BLS_POINT)

/* Reads a pair of points of the groups. */
static bool read_pair(const uint8_t *bytes, blst_p1_affine *p1, blst_p2_affine *p2)
{
    return !is_compressed(bytes) && blst_p1_deserialize(p1, bytes) == BLST_SUCCESS &&
           blst_p1_affine_in_g1(p1) && !is_compressed(bytes + BLS_POINT) &&
           blst_p2_deserialize(p2, bytes + BLS_POINT) == BLST_SUCCESS && blst_p2_affine_in_g2(p2);
}

bool near_host_bls12381_pairing_check(struct near_call *call, uint64_t *a)
{
    enum { ITEM = 3 * BLS_POINT, DIFFERS = 2 };
    blst_fp12 product = *blst_fp12_one(), pairing;
    struct wasm_bytes items;

    if (!near_pay(call, NEAR_COST_bls12381_pairing_base) || !near_take(call, a[0], a[1], &items) ||
        !near_pay_each(call, NEAR_COST_bls12381_pairing_element, items.length / ITEM) ||
        !bls_length(call, "pairing_check", items.length, ITEM))
        return false;
    for (uint32_t at = 0; at < items.length; at += ITEM) {
        blst_p1_affine p1;
        blst_p2_affine p2;

        if (!read_pair(items.data + at, &p1, &p2)) {
            a[0] = BLS_BAD;
            return true;
        }
        blst_miller_loop(&pairing, &p2, &p1);
        blst_fp12_mul(&product, &product, &pairing);
    }
    blst_final_exp(&product, &product);
    a[0] = blst_fp12_is_one(&product) ? BLS_GOOD : DIFFERS;
    return true;
}
