/* SPDX-License-Identifier: Apache-2.0 */
/* Integer arithmetic and comparisons, and floats' arithmetic. */
#include "aot/emitter.h"

/* Opcodes of the first instruction of each group, in the order of the binary format. */
enum {
    I32_EQZ = 0x45,
    I32_EQ = 0x46,
    I64_EQZ = 0x50,
    I64_EQ = 0x51,
    F32_EQ = 0x5b,
    F64_EQ = 0x61,
    I32_CLZ = 0x67,
    I64_CLZ = 0x79,
    F32_ABS = 0x8b,
    F64_ABS = 0x99,
    FIRST_CONVERSION = 0xa7,
};

/* The same for both sizes, from clz on. */
enum integer_operation {
    CLZ,
    CTZ,
    POPCNT,
    ADD,
    SUB,
    MUL,
    DIV_S,
    DIV_U,
    REM_S,
    REM_U,
    AND,
    OR,
    XOR,
    SHL,
    SHR_S,
    SHR_U,
    ROTL,
    ROTR,
};

/* From abs on. */
enum float_operation {
    ABS,
    NEG,
    CEIL,
    FLOOR,
    TRUNC,
    NEAREST,
    SQRT,
    FLOAT_ADD,
    FLOAT_SUB,
    FLOAT_MUL,
    FLOAT_DIV,
    MIN,
    MAX,
    COPYSIGN,
};

/* ---- integers ---- */

static void emit_count(struct aot_emitter *emitter, enum integer_operation operation,
                       LLVMTypeRef type)
{
    static const char *const names[] = {"llvm.ctlz", "llvm.cttz", "llvm.ctpop"};
    LLVMValueRef arguments[2] = {aot_pop(emitter), LLVMConstInt(emitter->i1, 0, false)};

    aot_push(emitter, aot_intrinsic(emitter, names[operation], &type, 1, arguments,
                                    operation == POPCNT ? 1 : 2));
}

/* The quotient of the least number and -1 does not fit. */
static void trap_unless_quotient_fits(struct aot_emitter *emitter, LLVMValueRef left,
                                      LLVMValueRef right, LLVMTypeRef type, unsigned bits)
{
    LLVMBuilderRef builder = emitter->builder;
    LLVMValueRef least = LLVMConstInt(type, UINT64_C(1) << (bits - 1), false);
    LLVMValueRef is_minus_one =
        LLVMBuildICmp(builder, LLVMIntEQ, right, LLVMConstAllOnes(type), "");
    LLVMValueRef is_least = LLVMBuildICmp(builder, LLVMIntEQ, left, least, "");

    aot_trap_if(emitter, LLVMBuildAnd(builder, is_minus_one, is_least, ""));
}

/* The remainder by -1 is 0, as by 1, but x86-64 refuses that of the least number. */
static LLVMValueRef signed_remainder(struct aot_emitter *emitter, LLVMValueRef left,
                                     LLVMValueRef right, LLVMTypeRef type)
{
    LLVMBuilderRef builder = emitter->builder;
    LLVMValueRef is_minus_one =
        LLVMBuildICmp(builder, LLVMIntEQ, right, LLVMConstAllOnes(type), "");

    right = LLVMBuildSelect(builder, is_minus_one, LLVMConstInt(type, 1, false), right, "");
    return LLVMBuildSRem(builder, left, right, "");
}

static void emit_division(struct aot_emitter *emitter, enum integer_operation operation,
                          LLVMTypeRef type, unsigned bits)
{
    LLVMBuilderRef builder = emitter->builder;
    LLVMValueRef right = aot_pop(emitter), left = aot_pop(emitter), result;

    aot_trap_if(emitter, LLVMBuildICmp(builder, LLVMIntEQ, right, LLVMConstNull(type), ""));
    if (operation == DIV_S)
        trap_unless_quotient_fits(emitter, left, right, type, bits);
    if (operation == DIV_S)
        result = LLVMBuildSDiv(builder, left, right, "");
    else if (operation == DIV_U)
        result = LLVMBuildUDiv(builder, left, right, "");
    else if (operation == REM_S)
        result = signed_remainder(emitter, left, right, type);
    else
        result = LLVMBuildURem(builder, left, right, "");
    aot_push(emitter, result);
}

static void emit_shift(struct aot_emitter *emitter, enum integer_operation operation,
                       LLVMTypeRef type, unsigned bits)
{
    LLVMBuilderRef builder = emitter->builder;
    LLVMValueRef right = aot_pop(emitter), left = aot_pop(emitter), result;
    LLVMValueRef arguments[3] = {left, left, right};

    if (operation == ROTL || operation == ROTR) {
        result = aot_intrinsic(emitter, operation == ROTL ? "llvm.fshl" : "llvm.fshr", &type, 1,
                               arguments, 3);
    } else {
        right = LLVMBuildAnd(builder, right, LLVMConstInt(type, bits - 1, false), "");
        if (operation == SHL)
            result = LLVMBuildShl(builder, left, right, "");
        else if (operation == SHR_S)
            result = LLVMBuildAShr(builder, left, right, "");
        else
            result = LLVMBuildLShr(builder, left, right, "");
    }
    aot_push(emitter, result);
}

static LLVMOpcode opcode_of(enum integer_operation operation)
{
    switch (operation) {
    case ADD:
        return LLVMAdd;
    case SUB:
        return LLVMSub;
    case MUL:
        return LLVMMul;
    case AND:
        return LLVMAnd;
    case OR:
        return LLVMOr;
    default:
        return LLVMXor;
    }
}

static void emit_integer(struct aot_emitter *emitter, enum integer_operation operation,
                         LLVMTypeRef type, unsigned bits)
{
    LLVMValueRef left, right;

    if (operation <= POPCNT) {
        emit_count(emitter, operation, type);
    } else if (operation >= DIV_S && operation <= REM_U) {
        emit_division(emitter, operation, type, bits);
    } else if (operation >= SHL) {
        emit_shift(emitter, operation, type, bits);
    } else {
        right = aot_pop(emitter);
        left = aot_pop(emitter);
        aot_push(emitter, LLVMBuildBinOp(emitter->builder, opcode_of(operation), left, right, ""));
    }
}

/* ---- comparisons ---- */

static void compare_integers(struct aot_emitter *emitter, unsigned comparison)
{
    static const LLVMIntPredicate predicates[] = {
        LLVMIntEQ,  LLVMIntNE,  LLVMIntSLT, LLVMIntULT, LLVMIntSGT,
        LLVMIntUGT, LLVMIntSLE, LLVMIntULE, LLVMIntSGE, LLVMIntUGE,
    };
    LLVMValueRef right = aot_pop(emitter), left = aot_pop(emitter);

    aot_push_condition(emitter,
                       LLVMBuildICmp(emitter->builder, predicates[comparison], left, right, ""));
}

static void compare_floats(struct aot_emitter *emitter, unsigned comparison)
{
    static const LLVMRealPredicate predicates[] = {LLVMRealOEQ, LLVMRealUNE, LLVMRealOLT,
                                                   LLVMRealOGT, LLVMRealOLE, LLVMRealOGE};
    LLVMValueRef right = aot_pop_any(emitter), left = aot_pop_any(emitter);

    aot_push_condition(emitter,
                       LLVMBuildFCmp(emitter->builder, predicates[comparison], left, right, ""));
}

static bool emit_comparison(struct aot_emitter *emitter, uint8_t opcode)
{
    if (opcode == I32_EQZ)
        aot_push_condition(emitter, LLVMBuildNot(emitter->builder, aot_pop_condition(emitter), ""));
    else if (opcode == I64_EQZ)
        aot_push_condition(emitter, LLVMBuildICmp(emitter->builder, LLVMIntEQ, aot_pop(emitter),
                                                  aot_i64(emitter, 0), ""));
    else if (opcode < F32_EQ)
        compare_integers(emitter, opcode < I64_EQZ ? opcode - I32_EQ : opcode - I64_EQ);
    else if (opcode < I32_CLZ)
        compare_floats(emitter, opcode < F64_EQ ? opcode - F32_EQ : opcode - F64_EQ);
    else
        return false;
    return true;
}

/* ---- floats ---- */

struct float_format {
    LLVMTypeRef type, bits;
    uint64_t sign;
};

static LLVMValueRef bits_of(struct aot_emitter *emitter, const struct float_format *format,
                            LLVMValueRef value)
{
    return LLVMBuildBitCast(emitter->builder, value, format->bits, "");
}

static LLVMValueRef without_sign(struct aot_emitter *emitter, const struct float_format *format,
                                 LLVMValueRef value)
{
    return LLVMBuildAnd(emitter->builder, bits_of(emitter, format, value),
                        LLVMConstInt(format->bits, format->sign - 1, false), "");
}

/* On the bits, so that a NaN's sign is as the interpreter has it. */
static void emit_sign(struct aot_emitter *emitter, enum float_operation operation,
                      const struct float_format *format)
{
    LLVMBuilderRef builder = emitter->builder;
    LLVMValueRef sign = LLVMConstInt(format->bits, format->sign, false);
    LLVMValueRef right = operation == COPYSIGN ? aot_pop(emitter) : NULL;
    LLVMValueRef left = aot_pop(emitter), result;

    if (operation == NEG)
        result = LLVMBuildXor(builder, bits_of(emitter, format, left), sign, "");
    else
        result = without_sign(emitter, format, left);
    if (operation == COPYSIGN) {
        right = LLVMBuildAnd(builder, bits_of(emitter, format, right), sign, "");
        result = LLVMBuildOr(builder, result, right, "");
    }
    aot_push(emitter, LLVMBuildBitCast(builder, result, format->type, ""));
}

static LLVMOpcode float_opcode(enum float_operation operation)
{
    switch (operation) {
    case FLOAT_ADD:
        return LLVMFAdd;
    case FLOAT_SUB:
        return LLVMFSub;
    case FLOAT_MUL:
        return LLVMFMul;
    default:
        return LLVMFDiv;
    }
}

static LLVMValueRef float_result(struct aot_emitter *emitter, enum float_operation operation,
                                 LLVMTypeRef type)
{
    static const char *const names[] = {
        [CEIL] = "llvm.ceil",    [FLOOR] = "llvm.floor", [TRUNC] = "llvm.trunc",
        [NEAREST] = "llvm.rint", [SQRT] = "llvm.sqrt",   [MIN] = "llvm.minimum",
        [MAX] = "llvm.maximum",
    };
    LLVMValueRef arguments[2];

    if (operation <= SQRT) {
        arguments[0] = aot_pop_any(emitter);
        return aot_intrinsic(emitter, names[operation], &type, 1, arguments, 1);
    }
    arguments[1] = aot_pop_any(emitter);
    arguments[0] = aot_pop_any(emitter);
    if (operation == MIN || operation == MAX)
        return aot_intrinsic(emitter, names[operation], &type, 1, arguments, 2);
    return LLVMBuildBinOp(emitter->builder, float_opcode(operation), arguments[0], arguments[1],
                          "");
}

bool aot_emit_float(struct aot_emitter *emitter, uint8_t opcode)
{
    const bool is_single = opcode < F64_ABS;
    const enum float_operation operation = opcode - (is_single ? F32_ABS : F64_ABS);
    const struct float_format format = {
        .type = is_single ? emitter->f32 : emitter->f64,
        .bits = is_single ? emitter->i32 : emitter->i64,
        .sign = is_single ? UINT64_C(1) << 31 : UINT64_C(1) << 63,
    };

    if (opcode < F32_ABS || opcode >= FIRST_CONVERSION)
        return false;
    if (operation == ABS || operation == NEG || operation == COPYSIGN)
        emit_sign(emitter, operation, &format);
    else
        aot_push_computed(emitter, float_result(emitter, operation, format.type));
    return true;
}

bool aot_emit_numeric(struct aot_emitter *emitter, const struct aot_instruction *instruction)
{
    const uint8_t opcode = instruction->opcode;

    if (opcode < WASM_FIRST_NUMERIC || opcode > WASM_LAST_NUMERIC)
        return false;
    emitter->pending++;
    if (emit_comparison(emitter, opcode) || aot_emit_float(emitter, opcode) ||
        aot_emit_conversion(emitter, opcode))
        return true;
    if (opcode < I64_CLZ)
        emit_integer(emitter, opcode - I32_CLZ, emitter->i32, 32);
    else
        emit_integer(emitter, opcode - I64_CLZ, emitter->i64, 64);
    return true;
}
