/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/near/curve/bn254.h"

#include <string.h>

/*
 * Numbers, pairs of numbers, points, pairing. With x = 4965661367192848881 the field's prime is
 * p = 36x⁴ + 36x³ + 24x² + 6x + 1, and the group's order r = p - 6x². The twist is
 * y² = x³ + 3/(9 + u), whose point (x, y) stands for (x w², y w³).
 */

enum { LIMBS = 4, LIMB_BITS = 64, TOWER = 6 };

static const uint64_t prime[LIMBS] = {0x3c208c16d87cfd47, 0x97816a916871ca8d, 0xb85045b68181585d,
                                      0x30644e72e131a029};
static const uint64_t order[LIMBS] = {0x43e1f593f0000001, 0x2833e84879b97091, 0xb85045b68181585d,
                                      0x30644e72e131a029};
/* -1/p modulo 2⁶⁴, and 2⁵¹² modulo p. */
static const uint64_t prime_inverse = 0x87d20782e4866389;
static const struct bn254_fp into_form = {
    {0xf32cfc5b538afa89, 0xb5e71911d44501fb, 0x47ab1eff0a417ff6, 0x06d89f71cab8351f}};

/* ---- numbers ---- */

/* *difference = left - right; returns the borrow. */
static uint64_t limbs_subtract(uint64_t *difference, const uint64_t *left, const uint64_t *right)
{
    uint64_t borrow = 0;

    for (int i = 0; i < LIMBS; i++) {
        const unsigned __int128 next = (unsigned __int128)left[i] - right[i] - borrow;

        difference[i] = (uint64_t)next;
        borrow = (uint64_t)(next >> LIMB_BITS) & 1;
    }
    return borrow;
}

/* *sum = left + right, which has to fit. */
static void limbs_add(uint64_t *sum, const uint64_t *left, const uint64_t *right)
{
    uint64_t carry = 0;

    for (int i = 0; i < LIMBS; i++) {
        const unsigned __int128 next = (unsigned __int128)left[i] + right[i] + carry;

        sum[i] = (uint64_t)next;
        carry = (uint64_t)(next >> LIMB_BITS);
    }
}

static bool limbs_are_below(const uint64_t *number, const uint64_t *limit)
{
    uint64_t unused[LIMBS];

    return limbs_subtract(unused, number, limit) != 0;
}

/* The number is below 2p. */
static struct bn254_fp fp_reduce(struct bn254_fp number)
{
    struct bn254_fp less = {0};

    return limbs_subtract(less.limb, number.limb, prime) != 0 ? number : less;
}

static struct bn254_fp fp_add(struct bn254_fp left, struct bn254_fp right)
{
    limbs_add(left.limb, left.limb, right.limb);
    return fp_reduce(left);
}

static struct bn254_fp fp_subtract(struct bn254_fp left, struct bn254_fp right)
{
    if (limbs_subtract(left.limb, left.limb, right.limb) != 0)
        limbs_add(left.limb, left.limb, prime);
    return left;
}

static struct bn254_fp fp_negate(struct bn254_fp number)
{
    return fp_subtract((struct bn254_fp){{0}}, number);
}

/* left * right / 2²⁵⁶ modulo p, by Montgomery. As p is below 2²⁵⁴, no sum exceeds five limbs. */
static struct bn254_fp fp_multiply(struct bn254_fp left, struct bn254_fp right)
{
    struct bn254_fp sum = {{0}};

    for (int i = 0; i < LIMBS; i++) {
        unsigned __int128 product = (unsigned __int128)left.limb[0] * right.limb[i] + sum.limb[0];
        const uint64_t factor = (uint64_t)product * prime_inverse;
        unsigned __int128 cleared =
            (unsigned __int128)factor * prime[0] + (uint64_t)product; /* ends in 64 zeros */

        for (int j = 1; j < LIMBS; j++) {
            product = (unsigned __int128)left.limb[j] * right.limb[i] + sum.limb[j] +
                      (uint64_t)(product >> LIMB_BITS);
            cleared = (unsigned __int128)factor * prime[j] + (uint64_t)product +
                      (uint64_t)(cleared >> LIMB_BITS);
            sum.limb[j - 1] = (uint64_t)cleared;
        }
        sum.limb[LIMBS - 1] = (uint64_t)(product >> LIMB_BITS) + (uint64_t)(cleared >> LIMB_BITS);
    }
    return fp_reduce(sum);
}

static struct bn254_fp fp_small(uint64_t number)
{
    return fp_multiply((struct bn254_fp){{number}}, into_form);
}

static bool is_bit(const uint64_t *limbs, int bit)
{
    return (limbs[bit / LIMB_BITS] >> (bit % LIMB_BITS) & 1) != 0;
}

/* number^(p - 2): the inverse, or 0 of 0. */
static struct bn254_fp fp_invert(struct bn254_fp number)
{
    const uint64_t two[LIMBS] = {2};
    struct bn254_fp power = fp_small(1);
    uint64_t exponent[LIMBS];

    (void)limbs_subtract(exponent, prime, two);
    for (int bit = LIMBS * LIMB_BITS - 1; bit >= 0; bit--) {
        power = fp_multiply(power, power);
        if (is_bit(exponent, bit))
            power = fp_multiply(power, number);
    }
    return power;
}

static void limbs_read(const uint8_t *bytes, uint64_t *limbs)
{
    memset(limbs, 0, LIMBS * sizeof *limbs);
    for (int i = 0; i < BN254_NUMBER; i++)
        limbs[i / 8] |= (uint64_t)bytes[i] << (8 * (i % 8));
}

static bool refuse(struct bn254_fault *fault, const char *what, const uint8_t *bytes, size_t length)
{
    *fault = (struct bn254_fault){what, bytes, length};
    return false;
}

static bool fp_read(const uint8_t *bytes, struct bn254_fp *number, struct bn254_fault *fault)
{
    limbs_read(bytes, number->limb);
    if (!limbs_are_below(number->limb, prime))
        return refuse(fault, "invalid fq", bytes, BN254_NUMBER);
    *number = fp_multiply(*number, into_form);
    return true;
}

static void fp_write(struct bn254_fp number, uint8_t *bytes)
{
    number = fp_multiply(number, (struct bn254_fp){{1}});
    for (int i = 0; i < BN254_NUMBER; i++)
        bytes[i] = (uint8_t)(number.limb[i / 8] >> (8 * (i % 8)));
}

/* ---- pairs of numbers ---- */

static struct bn254_fp2 fp2_add(struct bn254_fp2 left, struct bn254_fp2 right)
{
    return (struct bn254_fp2){fp_add(left.a, right.a), fp_add(left.b, right.b)};
}

static struct bn254_fp2 fp2_subtract(struct bn254_fp2 left, struct bn254_fp2 right)
{
    return (struct bn254_fp2){fp_subtract(left.a, right.a), fp_subtract(left.b, right.b)};
}

static struct bn254_fp2 fp2_double(struct bn254_fp2 pair)
{
    return fp2_add(pair, pair);
}

static struct bn254_fp2 fp2_negate(struct bn254_fp2 pair)
{
    return (struct bn254_fp2){fp_negate(pair.a), fp_negate(pair.b)};
}

static struct bn254_fp2 fp2_conjugate(struct bn254_fp2 pair)
{
    return (struct bn254_fp2){pair.a, fp_negate(pair.b)};
}

static struct bn254_fp2 fp2_multiply(struct bn254_fp2 left, struct bn254_fp2 right)
{
    const struct bn254_fp first = fp_multiply(left.a, right.a), last = fp_multiply(left.b, right.b),
                          cross = fp_multiply(fp_add(left.a, left.b), fp_add(right.a, right.b));

    return (struct bn254_fp2){fp_subtract(first, last),
                              fp_subtract(fp_subtract(cross, first), last)};
}

static struct bn254_fp2 fp2_square(struct bn254_fp2 pair)
{
    const struct bn254_fp cross = fp_multiply(pair.a, pair.b);

    return (struct bn254_fp2){
        fp_multiply(fp_add(pair.a, pair.b), fp_subtract(pair.a, pair.b)),
        fp_add(cross, cross),
    };
}

static struct bn254_fp2 fp2_invert(struct bn254_fp2 pair)
{
    const struct bn254_fp inverse =
        fp_invert(fp_add(fp_multiply(pair.a, pair.a), fp_multiply(pair.b, pair.b)));

    return (struct bn254_fp2){fp_multiply(pair.a, inverse),
                              fp_negate(fp_multiply(pair.b, inverse))};
}

/* Times 9 + u. */
static struct bn254_fp2 fp2_times_xi(struct bn254_fp2 pair)
{
    const struct bn254_fp2 eightfold = fp2_double(fp2_double(fp2_double(pair)));

    return fp2_add(fp2_add(eightfold, pair), (struct bn254_fp2){fp_negate(pair.b), pair.a});
}

static struct bn254_fp2 fp2_small(uint64_t number)
{
    return (struct bn254_fp2){fp_small(number), {{0}}};
}

static bool fp2_are_equal(struct bn254_fp2 left, struct bn254_fp2 right)
{
    return memcmp(&left, &right, sizeof left) == 0;
}

static bool fp2_is_zero(struct bn254_fp2 pair)
{
    return fp2_are_equal(pair, (struct bn254_fp2){{{0}}, {{0}}});
}

/* ---- points ---- */

static void point_double(struct bn254_point *twice, const struct bn254_point *point)
{
    const struct bn254_fp2 x = point->x, y = point->y, xx = fp2_square(x), yy = fp2_square(y);
    const struct bn254_fp2 slope = fp2_add(fp2_double(xx), xx),
                           xyy4 = fp2_double(fp2_double(fp2_multiply(x, yy))),
                           yyyy8 = fp2_double(fp2_double(fp2_double(fp2_square(yy))));

    twice->z = fp2_double(fp2_multiply(y, point->z));
    twice->x = fp2_subtract(fp2_square(slope), fp2_double(xyy4));
    twice->y = fp2_subtract(fp2_multiply(slope, fp2_subtract(xyy4, twice->x)), yyyy8);
}

void bn254_add(struct bn254_point *sum, const struct bn254_point *left,
               const struct bn254_point *right)
{
    const struct bn254_fp2 zz1 = fp2_square(left->z), zz2 = fp2_square(right->z);
    const struct bn254_fp2 x1 = fp2_multiply(left->x, zz2), x2 = fp2_multiply(right->x, zz1);
    const struct bn254_fp2 y1 = fp2_multiply(left->y, fp2_multiply(right->z, zz2)),
                           y2 = fp2_multiply(right->y, fp2_multiply(left->z, zz1));
    const struct bn254_fp2 dx = fp2_subtract(x2, x1), dy = fp2_subtract(y2, y1),
                           dxx = fp2_square(dx), dxxx = fp2_multiply(dx, dxx),
                           base = fp2_multiply(x1, dxx);

    if (fp2_is_zero(left->z)) {
        *sum = *right;
    } else if (fp2_is_zero(right->z)) {
        *sum = *left;
    } else if (fp2_is_zero(dx) && fp2_is_zero(dy)) {
        point_double(sum, left);
    } else {
        sum->z = fp2_multiply(fp2_multiply(left->z, right->z), dx);
        sum->x = fp2_subtract(fp2_subtract(fp2_square(dy), dxxx), fp2_double(base));
        sum->y = fp2_subtract(fp2_multiply(dy, fp2_subtract(base, sum->x)), fp2_multiply(y1, dxxx));
    }
}

void bn254_negate(struct bn254_point *point)
{
    point->y = fp2_negate(point->y);
}

static void point_multiply(struct bn254_point *product, const struct bn254_point *point,
                           const uint64_t *limbs, int limb_count)
{
    struct bn254_point sum = {0};

    for (int bit = limb_count * LIMB_BITS - 1; bit >= 0; bit--) {
        point_double(&sum, &sum);
        if (is_bit(limbs, bit))
            bn254_add(&sum, &sum, point);
    }
    *product = sum;
}

bool bn254_multiply(struct bn254_point *product, const struct bn254_point *point,
                    const uint8_t scalar[BN254_NUMBER], struct bn254_fault *fault)
{
    uint64_t limbs[LIMBS];

    limbs_read(scalar, limbs);
    if (!limbs_are_below(limbs, order))
        return refuse(fault, "invalid fr", scalar, BN254_NUMBER);
    point_multiply(product, point, limbs, LIMBS);
    return true;
}

/* x and y of a point, or zeros for infinity. */
static void point_normalize(struct bn254_point *point)
{
    const struct bn254_fp2 inverse = fp2_invert(point->z), square = fp2_square(inverse);

    point->x = fp2_multiply(point->x, square);
    point->y = fp2_multiply(point->y, fp2_multiply(square, inverse));
    point->z = fp2_small(fp2_is_zero(point->z) ? 0 : 1);
}

/* y² - x³ of a point with z = 1. */
static struct bn254_fp2 point_constant(const struct bn254_point *point)
{
    return fp2_subtract(fp2_square(point->y), fp2_multiply(fp2_square(point->x), point->x));
}

bool bn254_read_g1(const uint8_t bytes[BN254_G1], struct bn254_point *point,
                   struct bn254_fault *fault)
{
    *point = (struct bn254_point){0};
    if (!fp_read(bytes, &point->x.a, fault) || !fp_read(bytes + BN254_NUMBER, &point->y.a, fault))
        return false;
    if (fp2_is_zero(point->x) && fp2_is_zero(point->y))
        return true;
    point->z = fp2_small(1);
    return fp2_are_equal(point_constant(point), fp2_small(3)) ||
           refuse(fault, "invalid g1", bytes, BN254_G1);
}

void bn254_write_g1(const struct bn254_point *point, uint8_t bytes[BN254_G1])
{
    struct bn254_point normal = *point;

    point_normalize(&normal);
    fp_write(normal.x.a, bytes);
    fp_write(normal.y.a, bytes + BN254_NUMBER);
}

/* (9 + u)^((p - 1)/6), which is w^(p - 1). */
static const struct bn254_fp2 frobenius = {
    {{0xaf9ba69633144907, 0xca6b1d7387afb78a, 0x11bded5ef08a2087, 0x02f34d751a1f3a7c}},
    {{0xa222ae234c492d72, 0xd00f02a4565de15b, 0xdc2ff3a253dfc926, 0x10a75716b3899551}}};

/* Replaces the coordinates of what a point of the twist stands for by their powers of p. */
static void twist_frobenius(struct bn254_point *point)
{
    const struct bn254_fp2 square = fp2_square(frobenius);

    point->x = fp2_multiply(fp2_conjugate(point->x), square);
    point->y = fp2_multiply(fp2_conjugate(point->y), fp2_multiply(square, frobenius));
    point->z = fp2_conjugate(point->z);
}

/* The powers of p multiply a point of the group by p, which is 6x² modulo r, and no other. */
static bool is_in_twist_group(const struct bn254_point *point)
{
    static const uint64_t multiple[] = {0xf83e9682e87cfd46, 0x6f4d8248eeb859fb}; /* 6x² */
    struct bn254_point difference, power = *point;

    point_multiply(&difference, point, multiple, 2);
    twist_frobenius(&power);
    bn254_negate(&power);
    bn254_add(&difference, &difference, &power);
    return fp2_is_zero(difference.z);
}

bool bn254_read_g2(const uint8_t bytes[BN254_G2], struct bn254_point *point,
                   struct bn254_fault *fault)
{
    struct bn254_fp *const parts[] = {&point->x.a, &point->x.b, &point->y.a, &point->y.b};

    *point = (struct bn254_point){0};
    for (int i = 0; i < 4; i++)
        if (!fp_read(bytes + (ptrdiff_t)i * BN254_NUMBER, parts[i], fault))
            return false;
    if (fp2_is_zero(point->x) && fp2_is_zero(point->y))
        return true;
    point->z = fp2_small(1);
    return (fp2_are_equal(fp2_times_xi(point_constant(point)), fp2_small(3)) &&
            is_in_twist_group(point)) ||
           refuse(fault, "invalid g2", bytes, BN254_G2);
}

/* ---- pairing: the optimal ate pairing ---- */

static void product_multiply(struct bn254_product *left, const struct bn254_product *right)
{
    struct bn254_fp2 sums[2 * TOWER] = {0};

    for (int j = 0; j < TOWER; j++) {
        if (fp2_is_zero(right->c[j])) /* half of a line's */
            continue;
        for (int i = 0; i < TOWER; i++)
            sums[i + j] = fp2_add(sums[i + j], fp2_multiply(left->c[i], right->c[j]));
    }
    for (int i = 0; i < TOWER; i++)
        left->c[i] = fp2_add(sums[i], fp2_times_xi(sums[i + TOWER]));
}

void bn254_pairing_begin(struct bn254_product *product)
{
    *product = (struct bn254_product){0};
    product->c[0] = fp2_small(1);
}

/* Multiplies by the line through two points of the twist, or the tangent where they are one, at a
 * point of the curve; and adds `other` to `point`. Both have z = 1, and are not opposite, which
 * multiples of a point of the group that differ by less than r never are. */
static void pass_line(struct bn254_product *product, struct bn254_point *point,
                      const struct bn254_point *other, const struct bn254_point *at)
{
    const struct bn254_fp2 x = point->x, xx = fp2_square(x);
    const bool is_tangent = fp2_are_equal(x, other->x);
    const struct bn254_fp2 rise =
        is_tangent ? fp2_add(fp2_double(xx), xx) : fp2_subtract(other->y, point->y);
    const struct bn254_fp2 run = is_tangent ? fp2_double(point->y) : fp2_subtract(other->x, x);
    const struct bn254_fp2 slope = fp2_multiply(rise, fp2_invert(run));
    struct bn254_product line = {0};

    line.c[0] = at->y;
    line.c[1] = fp2_negate(fp2_multiply(slope, at->x));
    line.c[3] = fp2_subtract(fp2_multiply(slope, x), point->y);
    product_multiply(product, &line);
    point->x = fp2_subtract(fp2_subtract(fp2_square(slope), x), other->x);
    point->y = fp2_subtract(fp2_multiply(slope, fp2_subtract(x, point->x)), point->y);
}

/* Both have z = 1. */
static void pass_lines(struct bn254_product *product, const struct bn254_point *g1,
                       const struct bn254_point *g2)
{
    static const uint64_t loop = 0x9d797039be763ba8; /* 6x + 2 - 2⁶⁴ */
    struct bn254_point sum = *g2, power = *g2;

    for (int bit = LIMB_BITS - 1; bit >= 0; bit--) {
        struct bn254_product square = *product;

        product_multiply(product, &square);
        pass_line(product, &sum, &sum, g1);
        if (is_bit(&loop, bit))
            pass_line(product, &sum, g2, g1);
    }
    twist_frobenius(&power);
    pass_line(product, &sum, &power, g1);
    twist_frobenius(&power);
    bn254_negate(&power);
    pass_line(product, &sum, &power, g1);
}

void bn254_pairing_add(struct bn254_product *product, const struct bn254_point *g1,
                       const struct bn254_point *g2)
{
    struct bn254_point left = *g1, right = *g2;
    struct bn254_product pairing;

    if (fp2_is_zero(g1->z) || fp2_is_zero(g2->z))
        return;
    point_normalize(&left);
    point_normalize(&right);
    bn254_pairing_begin(&pairing);
    pass_lines(&pairing, &left, &right);
    product_multiply(product, &pairing);
}

static void product_frobenius(struct bn254_product *product)
{
    struct bn254_fp2 factor = fp2_small(1);

    for (int i = 0; i < TOWER; i++) {
        product->c[i] = fp2_multiply(fp2_conjugate(product->c[i]), factor);
        factor = fp2_multiply(factor, frobenius);
    }
}

/*
 * A product f stands for f^((p¹² - 1)/r), whose exponent is (p⁶ - 1)(p² + 1)h. As the power of p⁶
 * negates the odd powers of w, that is 1 where f^((p² + 1)h) has none. No inverse is needed.
 */
bool bn254_pairing_is_one(const struct bn254_product *product)
{
    /* h = (p⁴ - p² + 1)/r */
    static const uint64_t exponent[] = {0xe81bb482ccdf42b1, 0x5abf5cc4f49c36d4, 0xf1154e7e1da014fd,
                                        0xdcc7b44c87cdbacf, 0xaaa441e3954bcf8a, 0x6b887d56d5095f23,
                                        0x79581e16f3fd90c6, 0x3b1b1355d189227d, 0x4e529a5861876f6b,
                                        0x6c0eb522d5b12278, 0x331ec15183177faf, 0x01baaa710b0759ad};
    struct bn254_product base = *product, power;

    product_frobenius(&base);
    product_frobenius(&base);
    product_multiply(&base, product);
    bn254_pairing_begin(&power);
    for (int bit = (int)(sizeof exponent / sizeof *exponent) * LIMB_BITS - 1; bit >= 0; bit--) {
        const struct bn254_product square = power;

        product_multiply(&power, &square);
        if (is_bit(exponent, bit))
            product_multiply(&power, &base);
    }
    return fp2_is_zero(power.c[1]) && fp2_is_zero(power.c[3]) && fp2_is_zero(power.c[5]);
}
