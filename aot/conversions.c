/* SPDX-License-Identifier: Apache-2.0 */
/* Conversions between the types of values. */
#include "aot/emitter.h"

/* Opcodes by the specification's names. */
enum {
    I32_WRAP_I64 = 0xa7,
    I32_TRUNC_F32_S = 0xa8,
    I32_TRUNC_F64_U = 0xab,
    I64_EXTEND_I32_S = 0xac,
    I64_EXTEND_I32_U = 0xad,
    I64_TRUNC_F32_S = 0xae,
    I64_TRUNC_F64_U = 0xb1,
    F32_CONVERT_I32_S = 0xb2,
    F32_CONVERT_I64_U = 0xb5,
    F32_DEMOTE_F64 = 0xb6,
    F64_CONVERT_I32_S = 0xb7,
    F64_CONVERT_I64_U = 0xba,
    F64_PROMOTE_F32 = 0xbb,
    I32_REINTERPRET_F32 = 0xbc,
    F64_REINTERPRET_I64 = 0xbf,
    I32_EXTEND8_S = 0xc0,
    I64_EXTEND32_S = 0xc4,
};

/* The nearest numbers on both sides that do not fit; by source (f32, f64) and signedness. */
static const struct {
    double below, above;
} to_i32[2][2] = {{{-2147483904.0, 2147483648.0}, {-1.0, 4294967296.0}},
                  {{-2147483649.0, 2147483648.0}, {-1.0, 4294967296.0}}},
  to_i64[2][2] = {
      {{-9223373136366403584.0, 9223372036854775808.0}, {-1.0, 18446744073709551616.0}},
      {{-9223372036854777856.0, 9223372036854775808.0}, {-1.0, 18446744073709551616.0}}};

/* k: from 0, f32 signed, f32 unsigned, f64 signed, f64 unsigned. */
static void emit_truncation(struct aot_emitter *emitter, unsigned k, LLVMTypeRef to)
{
    LLVMBuilderRef builder = emitter->builder;
    const bool is_unsigned = k % 2 == 1, is_double = k / 2 == 1, is_long = to == emitter->i64;
    const double below =
        is_long ? to_i64[is_double][is_unsigned].below : to_i32[is_double][is_unsigned].below;
    const double above =
        is_long ? to_i64[is_double][is_unsigned].above : to_i32[is_double][is_unsigned].above;
    LLVMTypeRef from = is_double ? emitter->f64 : emitter->f32;
    LLVMValueRef value = aot_pop_any(emitter);
    LLVMValueRef fits_below =
        LLVMBuildFCmp(builder, LLVMRealOGT, value, LLVMConstReal(from, below), "");
    LLVMValueRef fits_above =
        LLVMBuildFCmp(builder, LLVMRealOLT, value, LLVMConstReal(from, above), "");
    LLVMValueRef fits = LLVMBuildAnd(builder, fits_below, fits_above, "");

    aot_trap_if(emitter, LLVMBuildNot(builder, fits, ""));
    aot_push(emitter, is_unsigned ? LLVMBuildFPToUI(emitter->builder, value, to, "")
                                  : LLVMBuildFPToSI(emitter->builder, value, to, ""));
}

void aot_emit_saturating(struct aot_emitter *emitter, uint32_t prefixed)
{
    LLVMTypeRef types[2] = {prefixed < 4 ? emitter->i32 : emitter->i64,
                            prefixed % 4 < 2 ? emitter->f32 : emitter->f64};
    LLVMValueRef value = aot_pop_any(emitter);

    emitter->pending++;
    aot_push(emitter,
             aot_intrinsic(emitter, prefixed % 2 == 0 ? "llvm.fptosi.sat" : "llvm.fptoui.sat",
                           types, 2, &value, 1));
}

/* k: from 0, i32 signed, i32 unsigned, i64 signed, i64 unsigned. */
static void emit_to_float(struct aot_emitter *emitter, unsigned k, LLVMTypeRef to)
{
    LLVMValueRef value = aot_pop(emitter);

    aot_push(emitter, k % 2 == 0 ? LLVMBuildSIToFP(emitter->builder, value, to, "")
                                 : LLVMBuildUIToFP(emitter->builder, value, to, ""));
}

static void emit_reinterpretation(struct aot_emitter *emitter, uint8_t opcode)
{
    LLVMTypeRef to[] = {emitter->i32, emitter->i64, emitter->f32, emitter->f64};
    LLVMValueRef value = aot_pop(emitter);

    aot_push(emitter,
             LLVMBuildBitCast(emitter->builder, value, to[opcode - I32_REINTERPRET_F32], ""));
}

static void emit_sign_extension(struct aot_emitter *emitter, uint8_t opcode)
{
    LLVMTypeRef from[] = {emitter->i8, emitter->i16, emitter->i8, emitter->i16, emitter->i32};
    LLVMTypeRef to = opcode < I32_EXTEND8_S + 2 ? emitter->i32 : emitter->i64;
    LLVMValueRef value =
        LLVMBuildTrunc(emitter->builder, aot_pop(emitter), from[opcode - I32_EXTEND8_S], "");

    aot_push(emitter, LLVMBuildSExt(emitter->builder, value, to, ""));
}

static void emit_resizing(struct aot_emitter *emitter, uint8_t opcode)
{
    LLVMBuilderRef builder = emitter->builder;

    switch (opcode) {
    case I32_WRAP_I64:
        aot_push(emitter, LLVMBuildTrunc(builder, aot_pop(emitter), emitter->i32, ""));
        return;
    case I64_EXTEND_I32_S:
        aot_push(emitter, LLVMBuildSExt(builder, aot_pop(emitter), emitter->i64, ""));
        return;
    case I64_EXTEND_I32_U:
        aot_push(emitter, LLVMBuildZExt(builder, aot_pop(emitter), emitter->i64, ""));
        return;
    case F32_DEMOTE_F64:
        aot_push_computed(emitter,
                          LLVMBuildFPTrunc(builder, aot_pop_any(emitter), emitter->f32, ""));
        return;
    default: /* f64.promote_f32 */
        aot_push_computed(emitter, LLVMBuildFPExt(builder, aot_pop_any(emitter), emitter->f64, ""));
    }
}

bool aot_emit_conversion(struct aot_emitter *emitter, uint8_t opcode)
{
    if (opcode < I32_WRAP_I64)
        return false;
    if (opcode >= I32_EXTEND8_S)
        emit_sign_extension(emitter, opcode);
    else if (opcode >= I32_REINTERPRET_F32)
        emit_reinterpretation(emitter, opcode);
    else if (opcode >= I32_TRUNC_F32_S && opcode <= I32_TRUNC_F64_U)
        emit_truncation(emitter, opcode - I32_TRUNC_F32_S, emitter->i32);
    else if (opcode >= I64_TRUNC_F32_S && opcode <= I64_TRUNC_F64_U)
        emit_truncation(emitter, opcode - I64_TRUNC_F32_S, emitter->i64);
    else if (opcode >= F32_CONVERT_I32_S && opcode <= F32_CONVERT_I64_U)
        emit_to_float(emitter, opcode - F32_CONVERT_I32_S, emitter->f32);
    else if (opcode >= F64_CONVERT_I32_S && opcode <= F64_CONVERT_I64_U)
        emit_to_float(emitter, opcode - F64_CONVERT_I32_S, emitter->f64);
    else
        emit_resizing(emitter, opcode);
    return true;
}
