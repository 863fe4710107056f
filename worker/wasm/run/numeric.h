/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_WORKER_WASM_RUN_NUMERIC_H
#define GASPIPE_WORKER_WASM_RUN_NUMERIC_H

#include <stdint.h>
#include <string.h>

/*
 * Floating-point numbers as their bits. What an operation computes and is no number becomes
 * the one canonical NaN, so that nothing depends on the machine's; moving bits does not.
 */
static inline float wasm_to_f32(uint64_t bits)
{
    const uint32_t low = (uint32_t)bits;
    float value;

    memcpy(&value, &low, sizeof value);
    return value;
}

static inline double wasm_to_f64(uint64_t bits)
{
    double value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline uint64_t wasm_from_f32(float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof bits);
    return value == value ? bits : 0x7fc00000u;
}

static inline uint64_t wasm_from_f64(double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof bits);
    return value == value ? bits : 0x7ff8000000000000u;
}

/* With -0 below +0, and no number when either is none. */
static inline double wasm_minimum(double x, double y)
{
    if (x != x || y != y)
        return x + y;
    if (x == y)
        return __builtin_signbit(x) ? x : y;
    return x < y ? x : y;
}

static inline double wasm_maximum(double x, double y)
{
    if (x != x || y != y)
        return x + y;
    if (x == y)
        return __builtin_signbit(x) ? y : x;
    return x > y ? x : y;
}

/* Truncated, the nearest that fits; 0 for what is no number. */
static inline uint64_t wasm_saturate_i32_s(double x)
{
    if (x != x)
        return 0;
    if (x <= -2147483648.0)
        return 0x80000000u;
    return x >= 2147483647.0 ? 0x7fffffffu : (uint32_t)(int32_t)x;
}

static inline uint64_t wasm_saturate_i32_u(double x)
{
    if (!(x > 0))
        return 0;
    return x >= 4294967295.0 ? 0xffffffffu : (uint32_t)x;
}

static inline uint64_t wasm_saturate_i64_s(double x)
{
    if (x != x)
        return 0;
    if (x <= -9223372036854775808.0)
        return 0x8000000000000000u;
    return x >= 9223372036854775808.0 ? 0x7fffffffffffffffu : (uint64_t)(int64_t)x;
}

static inline uint64_t wasm_saturate_i64_u(double x)
{
    if (!(x > 0))
        return 0;
    return x >= 18446744073709551616.0 ? UINT64_MAX : (uint64_t)x;
}

#endif
