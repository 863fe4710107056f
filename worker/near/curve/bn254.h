/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_WORKER_NEAR_CURVE_BN254_H
#define GASPIPE_WORKER_NEAR_CURVE_BN254_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The curve y² = x³ + 3 of Ethereum's EIP-196 and EIP-197, which NEAR calls alt_bn128, and its
 * pairing. Numbers are 32 bytes, the least significant first. It takes no memory and reads
 * nothing of the machine, so the same calls execute the same instructions. Time depends on the
 * numbers, which are public.
 */

enum { BN254_NUMBER = 32, BN254_G1 = 2 * BN254_NUMBER, BN254_G2 = 2 * BN254_G1 };

/* A number modulo the field's prime, in Montgomery's form. */
struct bn254_fp {
    uint64_t limb[4];
};

/* a + b u, where u² = -1. */
struct bn254_fp2 {
    struct bn254_fp a, b;
};

/* A point of the curve, or of its twist, in Jacobian coordinates; z = 0: infinity. One type for
 * both halves the code, and makes sums three times as slow as they could be: about as fast as
 * their gas supposes. */
struct bn254_point {
    struct bn254_fp2 x, y, z;
};

/* The product of pairings, before its last power. */
struct bn254_product {
    struct bn254_fp2 c[6]; /* times w⁰ to w⁵, where w⁶ = 9 + u */
};

/* Bytes that were refused, and why. */
struct bn254_fault {
    const char *what; /* in nearcore's words */
    const uint8_t *bytes;
    size_t length;
};

/* Read x and y, both 0 for infinity. False, with the fault, if that is no point of the group. */
bool bn254_read_g1(const uint8_t bytes[BN254_G1], struct bn254_point *point,
                   struct bn254_fault *fault);
bool bn254_read_g2(const uint8_t bytes[BN254_G2], struct bn254_point *point,
                   struct bn254_fault *fault);
void bn254_write_g1(const struct bn254_point *point, uint8_t bytes[BN254_G1]);

/* `sum` may be one of the others. */
void bn254_add(struct bn254_point *sum, const struct bn254_point *left,
               const struct bn254_point *right);
void bn254_negate(struct bn254_point *point);

/* False, with the fault, if the scalar is not below the group's order. */
bool bn254_multiply(struct bn254_point *product, const struct bn254_point *point,
                    const uint8_t scalar[BN254_NUMBER], struct bn254_fault *fault);

/* Begins with 1, which each pair of points multiplies by their pairing. */
void bn254_pairing_begin(struct bn254_product *product);
void bn254_pairing_add(struct bn254_product *product, const struct bn254_point *g1,
                       const struct bn254_point *g2);
bool bn254_pairing_is_one(const struct bn254_product *product);

#endif
