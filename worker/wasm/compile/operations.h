/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_WORKER_WASM_COMPILE_OPERATIONS_H
#define GASPIPE_WORKER_WASM_COMPILE_OPERATIONS_H

/*
 * The operations of compiled code, and the integer expressions. The compiler makes an
 * enumerator of each, the interpreter (worker/wasm/run/interpreter.c) a jump target. In
 * expressions a and b are operands of the unsigned type U with BITS bits; S is the signed
 * type of that size.
 */
#define WASM_INTEGER_BINARY(X)                                                                     \
    X(ADD, a + b)                                                                                  \
    X(SUB, a - b)                                                                                  \
    X(MUL, a *b)                                                                                   \
    X(AND, a &b)                                                                                   \
    X(OR, a | b)                                                                                   \
    X(XOR, a ^ b)                                                                                  \
    X(SHL, a << (b & (BITS - 1)))                                                                  \
    X(SHR_S, (U)((S)a >> (b & (BITS - 1))))                                                        \
    X(SHR_U, a >> (b & (BITS - 1)))                                                                \
    X(ROTL, (a << (b & (BITS - 1))) | (a >> ((BITS - (b & (BITS - 1))) & (BITS - 1))))             \
    X(ROTR, (a >> (b & (BITS - 1))) | (a << ((BITS - (b & (BITS - 1))) & (BITS - 1))))

/* In the order of the opcodes; wasm_inverse_comparison() depends on it. */
#define WASM_INTEGER_COMPARE(X)                                                                    \
    X(EQ, a == b)                                                                                  \
    X(NE, a != b)                                                                                  \
    X(LT_S, (S)a < (S)b)                                                                           \
    X(LT_U, a < b)                                                                                 \
    X(GT_S, (S)a > (S)b)                                                                           \
    X(GT_U, a > b)                                                                                 \
    X(LE_S, (S)a <= (S)b)                                                                          \
    X(LE_U, a <= b)                                                                                \
    X(GE_S, (S)a >= (S)b)                                                                          \
    X(GE_U, a >= b)

/* Trap if b is 0 or the quotient does not fit. */
#define WASM_INTEGER_DIVIDE(X)                                                                     \
    X(DIV_S, (U)((S)a / (S)b), b == (U)-1 && a == (U)1 << (BITS - 1))                              \
    X(DIV_U, a / b, false)                                                                         \
    X(REM_S, b == (U)-1 ? 0 : (U)((S)a % (S)b), false)                                             \
    X(REM_U, a % b, false)

/* Name, type of the operand, expression. */
#define WASM_UNARY(X)                                                                              \
    X(I32_EQZ, uint32_t, a == 0)                                                                   \
    X(I64_EQZ, uint64_t, a == 0)                                                                   \
    X(I32_CLZ, uint32_t, (uint32_t)(a != 0 ? __builtin_clz(a) : 32))                               \
    X(I32_CTZ, uint32_t, (uint32_t)(a != 0 ? __builtin_ctz(a) : 32))                               \
    X(I32_POPCNT, uint32_t, (uint32_t)__builtin_popcount(a))                                       \
    X(I64_CLZ, uint64_t, (uint64_t)(a != 0 ? __builtin_clzll(a) : 64))                             \
    X(I64_CTZ, uint64_t, (uint64_t)(a != 0 ? __builtin_ctzll(a) : 64))                             \
    X(I64_POPCNT, uint64_t, (uint64_t)__builtin_popcountll(a))                                     \
    X(I32_WRAP_I64, uint32_t, a)                                                                   \
    X(I64_EXTEND_I32_S, int32_t, (uint64_t)(int64_t)a)                                             \
    X(I64_EXTEND_I32_U, uint32_t, a)                                                               \
    X(I32_EXTEND8_S, int8_t, (uint32_t)(int32_t)a)                                                 \
    X(I32_EXTEND16_S, int16_t, (uint32_t)(int32_t)a)                                               \
    X(I64_EXTEND8_S, int8_t, (uint64_t)(int64_t)a)                                                 \
    X(I64_EXTEND16_S, int16_t, (uint64_t)(int64_t)a)                                               \
    X(I64_EXTEND32_S, int32_t, (uint64_t)(int64_t)a)                                               \
    X(REINTERPRET, uint64_t, a)                                                                    \
    X(F32_ABS, uint32_t, a & 0x7fffffffu)                                                          \
    X(F32_NEG, uint32_t, a ^ 0x80000000u)                                                          \
    X(F32_CEIL, uint32_t, wasm_from_f32(__builtin_ceilf(wasm_to_f32(a))))                          \
    X(F32_FLOOR, uint32_t, wasm_from_f32(__builtin_floorf(wasm_to_f32(a))))                        \
    X(F32_TRUNC, uint32_t, wasm_from_f32(__builtin_truncf(wasm_to_f32(a))))                        \
    X(F32_NEAREST, uint32_t, wasm_from_f32(__builtin_rintf(wasm_to_f32(a))))                       \
    X(F32_SQRT, uint32_t, wasm_from_f32(__builtin_sqrtf(wasm_to_f32(a))))                          \
    X(F64_ABS, uint64_t, a & 0x7fffffffffffffffu)                                                  \
    X(F64_NEG, uint64_t, a ^ 0x8000000000000000u)                                                  \
    X(F64_CEIL, uint64_t, wasm_from_f64(__builtin_ceil(wasm_to_f64(a))))                           \
    X(F64_FLOOR, uint64_t, wasm_from_f64(__builtin_floor(wasm_to_f64(a))))                         \
    X(F64_TRUNC, uint64_t, wasm_from_f64(__builtin_trunc(wasm_to_f64(a))))                         \
    X(F64_NEAREST, uint64_t, wasm_from_f64(__builtin_rint(wasm_to_f64(a))))                        \
    X(F64_SQRT, uint64_t, wasm_from_f64(__builtin_sqrt(wasm_to_f64(a))))                           \
    X(F32_CONVERT_I32_S, int32_t, wasm_from_f32((float)a))                                         \
    X(F32_CONVERT_I32_U, uint32_t, wasm_from_f32((float)a))                                        \
    X(F32_CONVERT_I64_S, int64_t, wasm_from_f32((float)a))                                         \
    X(F32_CONVERT_I64_U, uint64_t, wasm_from_f32((float)a))                                        \
    X(F64_CONVERT_I32_S, int32_t, wasm_from_f64((double)a))                                        \
    X(F64_CONVERT_I32_U, uint32_t, wasm_from_f64((double)a))                                       \
    X(F64_CONVERT_I64_S, int64_t, wasm_from_f64((double)a))                                        \
    X(F64_CONVERT_I64_U, uint64_t, wasm_from_f64((double)a))                                       \
    X(F32_DEMOTE_F64, uint64_t, wasm_from_f32((float)wasm_to_f64(a)))                              \
    X(F64_PROMOTE_F32, uint32_t, wasm_from_f64((double)wasm_to_f32(a)))                            \
    X(I32_TRUNC_SAT_F32_S, uint32_t, wasm_saturate_i32_s(wasm_to_f32(a)))                          \
    X(I32_TRUNC_SAT_F32_U, uint32_t, wasm_saturate_i32_u(wasm_to_f32(a)))                          \
    X(I32_TRUNC_SAT_F64_S, uint64_t, wasm_saturate_i32_s(wasm_to_f64(a)))                          \
    X(I32_TRUNC_SAT_F64_U, uint64_t, wasm_saturate_i32_u(wasm_to_f64(a)))                          \
    X(I64_TRUNC_SAT_F32_S, uint32_t, wasm_saturate_i64_s(wasm_to_f32(a)))                          \
    X(I64_TRUNC_SAT_F32_U, uint32_t, wasm_saturate_i64_u(wasm_to_f32(a)))                          \
    X(I64_TRUNC_SAT_F64_S, uint64_t, wasm_saturate_i64_s(wasm_to_f64(a)))                          \
    X(I64_TRUNC_SAT_F64_U, uint64_t, wasm_saturate_i64_u(wasm_to_f64(a)))

/* Name, source type, the nearest values below and above that do not fit, expression. Trap if the
 * value does not fit or is NaN. */
#define WASM_TRUNCATE(X)                                                                           \
    X(I32_TRUNC_F32_S, f32, -2147483904.0, 2147483648.0, (uint32_t)(int32_t)a)                     \
    X(I32_TRUNC_F32_U, f32, -1.0, 4294967296.0, (uint32_t)a)                                       \
    X(I32_TRUNC_F64_S, f64, -2147483649.0, 2147483648.0, (uint32_t)(int32_t)a)                     \
    X(I32_TRUNC_F64_U, f64, -1.0, 4294967296.0, (uint32_t)a)                                       \
    X(I64_TRUNC_F32_S, f32, -9223373136366403584.0, 9223372036854775808.0, (uint64_t)(int64_t)a)   \
    X(I64_TRUNC_F32_U, f32, -1.0, 18446744073709551616.0, (uint64_t)a)                             \
    X(I64_TRUNC_F64_S, f64, -9223372036854777856.0, 9223372036854775808.0, (uint64_t)(int64_t)a)   \
    X(I64_TRUNC_F64_U, f64, -1.0, 18446744073709551616.0, (uint64_t)a)

/* Once with f32 and once with f64: x and y are such numbers, a and b their bits. */
#define WASM_FLOAT_BINARY(X)                                                                       \
    X(ADD, FROM(x + y))                                                                            \
    X(SUB, FROM(x - y))                                                                            \
    X(MUL, FROM(x *y))                                                                             \
    X(DIV, FROM(x / y))                                                                            \
    X(MIN, FROM(wasm_minimum(x, y)))                                                               \
    X(MAX, FROM(wasm_maximum(x, y)))                                                               \
    X(COPYSIGN, (a & ~SIGN) | (b & SIGN))                                                          \
    X(EQ, x == y)                                                                                  \
    X(NE, x != y)                                                                                  \
    X(LT, x < y)                                                                                   \
    X(GT, x > y)                                                                                   \
    X(LE, x <= y)                                                                                  \
    X(GE, x >= y)

/* Name, type in memory, type that it is extended to. In the order of the opcodes. */
#define WASM_LOAD(X)                                                                               \
    X(I32_LOAD, uint32_t, uint32_t)                                                                \
    X(I64_LOAD, uint64_t, uint64_t)                                                                \
    X(F32_LOAD, uint32_t, uint32_t)                                                                \
    X(F64_LOAD, uint64_t, uint64_t)                                                                \
    X(I32_LOAD8_S, int8_t, uint32_t)                                                               \
    X(I32_LOAD8_U, uint8_t, uint32_t)                                                              \
    X(I32_LOAD16_S, int16_t, uint32_t)                                                             \
    X(I32_LOAD16_U, uint16_t, uint32_t)                                                            \
    X(I64_LOAD8_S, int8_t, uint64_t)                                                               \
    X(I64_LOAD8_U, uint8_t, uint64_t)                                                              \
    X(I64_LOAD16_S, int16_t, uint64_t)                                                             \
    X(I64_LOAD16_U, uint16_t, uint64_t)                                                            \
    X(I64_LOAD32_S, int32_t, uint64_t)                                                             \
    X(I64_LOAD32_U, uint32_t, uint64_t)

#define WASM_STORE(X)                                                                              \
    X(I32_STORE, uint32_t)                                                                         \
    X(I64_STORE, uint64_t)                                                                         \
    X(F32_STORE, uint32_t)                                                                         \
    X(F64_STORE, uint64_t)                                                                         \
    X(I32_STORE8, uint8_t)                                                                         \
    X(I32_STORE16, uint16_t)                                                                       \
    X(I64_STORE8, uint8_t)                                                                         \
    X(I64_STORE16, uint16_t)                                                                       \
    X(I64_STORE32, uint32_t)

/* All other operations; code.h has their fields. */
#define WASM_OTHER(X)                                                                              \
    X(GAS)                                                                                         \
    X(OUT_OF_GAS)                                                                                  \
    X(UNREACHABLE)                                                                                 \
    X(JUMP)                                                                                        \
    X(JUMP_IF)                                                                                     \
    X(JUMP_UNLESS)                                                                                 \
    X(JUMP_TABLE)                                                                                  \
    X(RETURN)                                                                                      \
    X(RETURN_ONE)                                                                                  \
    X(CALL)                                                                                        \
    X(CALL_IMPORT)                                                                                 \
    X(CALL_INDIRECT)                                                                               \
    X(COPY)                                                                                        \
    X(COPY_RANGE)                                                                                  \
    X(CONSTANT)                                                                                    \
    X(CONSTANT_WIDE)                                                                               \
    X(SELECT)                                                                                      \
    X(GLOBAL_GET)                                                                                  \
    X(GLOBAL_SET)                                                                                  \
    X(IMPORTED_GLOBAL_GET)                                                                         \
    X(IMPORTED_GLOBAL_SET)                                                                         \
    X(MEMORY_SIZE)                                                                                 \
    X(MEMORY_GROW)                                                                                 \
    X(MEMORY_COPY)                                                                                 \
    X(MEMORY_FILL)                                                                                 \
    X(MEMORY_INIT)                                                                                 \
    X(DATA_DROP)                                                                                   \
    X(TABLE_GET)                                                                                   \
    X(TABLE_SET)                                                                                   \
    X(TABLE_SIZE)                                                                                  \
    X(TABLE_GROW)                                                                                  \
    X(TABLE_FILL)                                                                                  \
    X(TABLE_COPY)                                                                                  \
    X(TABLE_INIT)                                                                                  \
    X(ELEMENT_DROP)                                                                                \
    X(REF_FUNC)

enum wasm_operation {
    WASM_OP_NONE,
#define PLAIN(name, ...)   WASM_OP_##name,
#define INTEGER(name, ...) WASM_OP_I32_##name, WASM_OP_I64_##name,
#define WITH_K(name, ...)                                                                          \
    WASM_OP_I32_##name, WASM_OP_I64_##name, WASM_OP_I32_##name##_K, WASM_OP_I64_##name##_K,
#define WITH_JUMP(name, ...)                                                                       \
    WASM_OP_I32_##name, WASM_OP_I64_##name, WASM_OP_I32_##name##_K, WASM_OP_I64_##name##_K,        \
        WASM_OP_JUMP_I32_##name, WASM_OP_JUMP_I64_##name, WASM_OP_JUMP_I32_##name##_K,             \
        WASM_OP_JUMP_I64_##name##_K,
#define FLOAT(name, ...) WASM_OP_F32_##name, WASM_OP_F64_##name,
    /* Comparisons come first, each with its forms, so that one can be computed from another. */
    WASM_INTEGER_COMPARE(WITH_JUMP) WASM_INTEGER_BINARY(WITH_K) WASM_INTEGER_DIVIDE(INTEGER)
        WASM_UNARY(PLAIN) WASM_TRUNCATE(PLAIN) WASM_FLOAT_BINARY(FLOAT) WASM_LOAD(PLAIN)
            WASM_STORE(PLAIN) WASM_OTHER(PLAIN)
#undef PLAIN
#undef INTEGER
#undef WITH_K
#undef WITH_JUMP
#undef FLOAT
                WASM_OPERATION_COUNT
};

#endif
