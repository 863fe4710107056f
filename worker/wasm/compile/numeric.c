/* SPDX-License-Identifier: Apache-2.0 */
/* Instructions that compute one value of one or two. */
#include "worker/wasm/compile/compiler.h"
#include "worker/wasm/compile/opcodes.h"

struct numeric {
    uint16_t operation;
    uint8_t operand; /* type of each operand */
    uint8_t result;
    bool is_binary;
    bool takes_constant; /* there is a form with _K behind */
    bool commutes;
    bool traps;
};

enum { K_FORM = WASM_OP_I32_ADD_K - WASM_OP_I32_ADD };

#define UNARY(name, from, to)                                                                      \
    {                                                                                              \
        .operation = WASM_OP_##name, .operand = WASM_##from, .result = WASM_##to                   \
    }
#define TRUNCATION(name, from, to)                                                                 \
    {                                                                                              \
        .operation = WASM_OP_##name, .operand = WASM_##from, .result = WASM_##to, .traps = true    \
    }
#define BINARY(type, name, ...)                                                                    \
    {                                                                                              \
        .operation = WASM_OP_##type##_##name, .operand = WASM_##type, .result = WASM_##type,       \
        .is_binary = true, ##__VA_ARGS__                                                           \
    }
#define COMPARISON(type, name, ...)                                                                \
    {                                                                                              \
        .operation = WASM_OP_##type##_##name, .operand = WASM_##type, .result = WASM_I32,          \
        .is_binary = true, ##__VA_ARGS__                                                           \
    }
#define K        .takes_constant = true
#define K_EITHER .takes_constant = true, .commutes = true
#define TRAPS    .traps = true

#define INTEGER_COMPARISONS(type)                                                                  \
    COMPARISON(type, EQ, K_EITHER), COMPARISON(type, NE, K_EITHER), COMPARISON(type, LT_S, K),     \
        COMPARISON(type, LT_U, K), COMPARISON(type, GT_S, K), COMPARISON(type, GT_U, K),           \
        COMPARISON(type, LE_S, K), COMPARISON(type, LE_U, K), COMPARISON(type, GE_S, K),           \
        COMPARISON(type, GE_U, K)
#define FLOAT_COMPARISONS(type)                                                                    \
    COMPARISON(type, EQ), COMPARISON(type, NE), COMPARISON(type, LT), COMPARISON(type, GT),        \
        COMPARISON(type, LE), COMPARISON(type, GE)
#define INTEGER_ARITHMETIC(type)                                                                   \
    UNARY(type##_CLZ, type, type), UNARY(type##_CTZ, type, type),                                  \
        UNARY(type##_POPCNT, type, type), BINARY(type, ADD, K_EITHER), BINARY(type, SUB, K),       \
        BINARY(type, MUL, K_EITHER), BINARY(type, DIV_S, TRAPS), BINARY(type, DIV_U, TRAPS),       \
        BINARY(type, REM_S, TRAPS), BINARY(type, REM_U, TRAPS), BINARY(type, AND, K_EITHER),       \
        BINARY(type, OR, K_EITHER), BINARY(type, XOR, K_EITHER), BINARY(type, SHL, K),             \
        BINARY(type, SHR_S, K), BINARY(type, SHR_U, K), BINARY(type, ROTL, K),                     \
        BINARY(type, ROTR, K)
#define FLOAT_ARITHMETIC(type)                                                                     \
    UNARY(type##_ABS, type, type), UNARY(type##_NEG, type, type), UNARY(type##_CEIL, type, type),  \
        UNARY(type##_FLOOR, type, type), UNARY(type##_TRUNC, type, type),                          \
        UNARY(type##_NEAREST, type, type), UNARY(type##_SQRT, type, type), BINARY(type, ADD),      \
        BINARY(type, SUB), BINARY(type, MUL), BINARY(type, DIV), BINARY(type, MIN),                \
        BINARY(type, MAX), BINARY(type, COPYSIGN)

/* From WASM_FIRST_NUMERIC to WASM_LAST_NUMERIC. */
static const struct numeric numerics[] = {
    UNARY(I32_EQZ, I32, I32),
    INTEGER_COMPARISONS(I32),
    UNARY(I64_EQZ, I64, I32),
    INTEGER_COMPARISONS(I64),
    FLOAT_COMPARISONS(F32),
    FLOAT_COMPARISONS(F64),
    INTEGER_ARITHMETIC(I32),
    INTEGER_ARITHMETIC(I64),
    FLOAT_ARITHMETIC(F32),
    FLOAT_ARITHMETIC(F64),
    UNARY(I32_WRAP_I64, I64, I32),
    TRUNCATION(I32_TRUNC_F32_S, F32, I32),
    TRUNCATION(I32_TRUNC_F32_U, F32, I32),
    TRUNCATION(I32_TRUNC_F64_S, F64, I32),
    TRUNCATION(I32_TRUNC_F64_U, F64, I32),
    UNARY(I64_EXTEND_I32_S, I32, I64),
    UNARY(I64_EXTEND_I32_U, I32, I64),
    TRUNCATION(I64_TRUNC_F32_S, F32, I64),
    TRUNCATION(I64_TRUNC_F32_U, F32, I64),
    TRUNCATION(I64_TRUNC_F64_S, F64, I64),
    TRUNCATION(I64_TRUNC_F64_U, F64, I64),
    UNARY(F32_CONVERT_I32_S, I32, F32),
    UNARY(F32_CONVERT_I32_U, I32, F32),
    UNARY(F32_CONVERT_I64_S, I64, F32),
    UNARY(F32_CONVERT_I64_U, I64, F32),
    UNARY(F32_DEMOTE_F64, F64, F32),
    UNARY(F64_CONVERT_I32_S, I32, F64),
    UNARY(F64_CONVERT_I32_U, I32, F64),
    UNARY(F64_CONVERT_I64_S, I64, F64),
    UNARY(F64_CONVERT_I64_U, I64, F64),
    UNARY(F64_PROMOTE_F32, F32, F64),
    UNARY(REINTERPRET, F32, I32),
    UNARY(REINTERPRET, F64, I64),
    UNARY(REINTERPRET, I32, F32),
    UNARY(REINTERPRET, I64, F64),
    UNARY(I32_EXTEND8_S, I32, I32),
    UNARY(I32_EXTEND16_S, I32, I32),
    UNARY(I64_EXTEND8_S, I64, I64),
    UNARY(I64_EXTEND16_S, I64, I64),
    UNARY(I64_EXTEND32_S, I64, I64),
};

_Static_assert(sizeof numerics / sizeof *numerics == WASM_LAST_NUMERIC - WASM_FIRST_NUMERIC + 1,
               "each opcode has its line");

static const struct numeric saturating[] = {
    UNARY(I32_TRUNC_SAT_F32_S, F32, I32), UNARY(I32_TRUNC_SAT_F32_U, F32, I32),
    UNARY(I32_TRUNC_SAT_F64_S, F64, I32), UNARY(I32_TRUNC_SAT_F64_U, F64, I32),
    UNARY(I64_TRUNC_SAT_F32_S, F32, I64), UNARY(I64_TRUNC_SAT_F32_U, F32, I64),
    UNARY(I64_TRUNC_SAT_F64_S, F64, I64), UNARY(I64_TRUNC_SAT_F64_U, F64, I64),
};

static void push_result(struct wasm_compiler *compiler, const struct numeric *numeric,
                        unsigned operation)
{
    wasm_push(compiler, numeric->result);
    wasm_emitted_top(compiler, (enum wasm_operation)operation);
}

static void compile_unary(struct wasm_compiler *compiler, const struct numeric *numeric)
{
    const struct wasm_operand operand = wasm_pop(compiler, numeric->operand);
    const uint16_t from = wasm_slot_of(compiler, operand, compiler->operand_count);
    struct wasm_cell *cell;

    if (numeric->traps)
        wasm_mark_trap(compiler);
    cell = wasm_emit(compiler, numeric->operation);
    cell->d = wasm_own_slot(compiler, compiler->operand_count);
    cell->a = from;
    push_result(compiler, numeric, numeric->operation);
}

/* Whether the operand is a constant that fits into a cell, as the operation's type sees it. */
static bool fits(const struct numeric *numeric, const struct wasm_operand *operand)
{
    return operand->place == WASM_PLACE_CONSTANT &&
           (numeric->operand == WASM_I32 || (int64_t)operand->bits == (int32_t)operand->bits);
}

static void compile_with_constant(struct wasm_compiler *compiler, const struct numeric *numeric,
                                  uint16_t slot, uint64_t bits)
{
    struct wasm_cell *cell = wasm_emit(compiler, numeric->operation + K_FORM);

    cell->d = wasm_own_slot(compiler, compiler->operand_count);
    cell->a = slot;
    cell->k = (int32_t)bits;
    push_result(compiler, numeric, numeric->operation + K_FORM);
}

static void compile_binary(struct wasm_compiler *compiler, const struct numeric *numeric)
{
    struct wasm_operand right = wasm_pop(compiler, numeric->operand);
    struct wasm_operand left = wasm_pop(compiler, numeric->operand);
    const uint32_t place = compiler->operand_count;
    uint16_t left_slot;
    uint16_t right_slot;
    struct wasm_cell *cell;

    if (numeric->takes_constant && fits(numeric, &right)) {
        left_slot = wasm_slot_of(compiler, left, place);
        compile_with_constant(compiler, numeric, left_slot, right.bits);
        return;
    }
    if (numeric->commutes && fits(numeric, &left)) {
        right_slot = wasm_slot_of(compiler, right, place + 1);
        compile_with_constant(compiler, numeric, right_slot, left.bits);
        return;
    }
    left_slot = wasm_slot_of(compiler, left, place);
    right_slot = wasm_slot_of(compiler, right, place + 1);
    if (numeric->traps)
        wasm_mark_trap(compiler);
    cell = wasm_emit(compiler, numeric->operation);
    cell->d = wasm_own_slot(compiler, place);
    cell->a = left_slot;
    cell->b = right_slot;
    push_result(compiler, numeric, numeric->operation);
}

bool wasm_compile_numeric(struct wasm_compiler *compiler, uint8_t opcode)
{
    const struct numeric *numeric;

    if (opcode < WASM_FIRST_NUMERIC || opcode > WASM_LAST_NUMERIC)
        return false;
    numeric = &numerics[opcode - WASM_FIRST_NUMERIC];
    wasm_charge(compiler, 1);
    if (numeric->is_binary)
        compile_binary(compiler, numeric);
    else
        compile_unary(compiler, numeric);
    return true;
}

bool wasm_compile_saturating(struct wasm_compiler *compiler, uint32_t opcode)
{
    if (opcode > WASM_LAST_SATURATING)
        return false;
    wasm_charge(compiler, 1);
    compile_unary(compiler, &saturating[opcode]);
    return true;
}
