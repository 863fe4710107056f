/* SPDX-License-Identifier: Apache-2.0 */
#include "meter/pass/charge.h"

#include <llvm-c/Core.h>

/* ---- names of opcodes ---- */

static const char *const names[] = {
    [LLVMRet] = "ret",
    [LLVMBr] = "br",
    [LLVMSwitch] = "switch",
    [LLVMIndirectBr] = "indirectbr",
    [LLVMInvoke] = "invoke",
    [LLVMUnreachable] = "unreachable",
    [LLVMCallBr] = "callbr",
    [LLVMFNeg] = "fneg",
    [LLVMAdd] = "add",
    [LLVMFAdd] = "fadd",
    [LLVMSub] = "sub",
    [LLVMFSub] = "fsub",
    [LLVMMul] = "mul",
    [LLVMFMul] = "fmul",
    [LLVMUDiv] = "udiv",
    [LLVMSDiv] = "sdiv",
    [LLVMFDiv] = "fdiv",
    [LLVMURem] = "urem",
    [LLVMSRem] = "srem",
    [LLVMFRem] = "frem",
    [LLVMShl] = "shl",
    [LLVMLShr] = "lshr",
    [LLVMAShr] = "ashr",
    [LLVMAnd] = "and",
    [LLVMOr] = "or",
    [LLVMXor] = "xor",
    [LLVMAlloca] = "alloca",
    [LLVMLoad] = "load",
    [LLVMStore] = "store",
    [LLVMGetElementPtr] = "getelementptr",
    [LLVMTrunc] = "trunc",
    [LLVMZExt] = "zext",
    [LLVMSExt] = "sext",
    [LLVMFPToUI] = "fptoui",
    [LLVMFPToSI] = "fptosi",
    [LLVMUIToFP] = "uitofp",
    [LLVMSIToFP] = "sitofp",
    [LLVMFPTrunc] = "fptrunc",
    [LLVMFPExt] = "fpext",
    [LLVMPtrToInt] = "ptrtoint",
    [LLVMIntToPtr] = "inttoptr",
    [LLVMBitCast] = "bitcast",
    [LLVMAddrSpaceCast] = "addrspacecast",
    [LLVMICmp] = "icmp",
    [LLVMFCmp] = "fcmp",
    [LLVMPHI] = "phi",
    [LLVMCall] = "call",
    [LLVMSelect] = "select",
    [LLVMVAArg] = "va_arg",
    [LLVMExtractElement] = "extractelement",
    [LLVMInsertElement] = "insertelement",
    [LLVMShuffleVector] = "shufflevector",
    [LLVMExtractValue] = "extractvalue",
    [LLVMInsertValue] = "insertvalue",
    [LLVMFreeze] = "freeze",
    [LLVMFence] = "fence",
    [LLVMAtomicCmpXchg] = "cmpxchg",
    [LLVMAtomicRMW] = "atomicrmw",
    [LLVMResume] = "resume",
    [LLVMLandingPad] = "landingpad",
};

/* An instruction's name in LLVM's language; "default" for one that this does not know. */
static const char *opcode_name(LLVMOpcode opcode)
{
    unsigned index = (unsigned)opcode;

    return index < sizeof names / sizeof *names && names[index] ? names[index] : "default";
}

/* ---- charges ---- */

void charge_init(struct charge *charge, const struct ir *ir, const struct pointer_set *bounded,
                 LLVMValueRef function)
{
    *charge = (struct charge){.ir = ir, .bounded = bounded};
    convention_find(&charge->convention, ir, function);
}

void charge_free(struct charge *charge)
{
    convention_free(&charge->convention);
}

/* What the table says to a call: of an intrinsic, or of a function of libc. */
static const struct cost *cost_of(const struct charge *charge, LLVMValueRef instruction)
{
    if (!ir_is_call(instruction))
        return NULL;
    if (ir_is_intrinsic_call(instruction))
        return cost_of_intrinsic(charge->ir->costs, ir_callee_name(instruction));
    return ir_libc_call(charge->ir, instruction);
}

/* The argument that says how many bytes; NULL where the cost has none. */
static LLVMValueRef bytes_argument(const struct cost *cost, LLVMValueRef instruction)
{
    if (!cost || cost->bytes != COST_ARGUMENT || cost->first >= LLVMGetNumArgOperands(instruction))
        return NULL;
    return LLVMGetOperand(instruction, cost->first);
}

static uint64_t units(const struct charge *charge, uint64_t bytes)
{
    return bytes / charge->ir->costs->bytes_per_unit;
}

static uint64_t fixed_of_call(const struct charge *charge, LLVMValueRef instruction)
{
    const struct cost *cost = cost_of(charge, instruction);
    LLVMValueRef bytes = bytes_argument(cost, instruction);
    uint64_t copied = convention_copied_bytes(charge->ir, instruction);
    uint64_t sum = copied > 0 ? 1 + units(charge, copied) : 0;

    sum += cost ? cost->fixed
                : cost_of_instruction(charge->ir->costs,
                                      opcode_name(LLVMGetInstructionOpcode(instruction)));
    if (bytes && LLVMIsAConstantInt(bytes))
        sum += units(charge, LLVMConstIntGetZExtValue(bytes));
    return sum;
}

uint64_t charge_fixed(const struct charge *charge, LLVMValueRef instruction)
{
    if (convention_is_free(&charge->convention, instruction))
        return 0;
    if (ir_is_call(instruction))
        return fixed_of_call(charge, instruction);
    return cost_of_instruction(charge->ir->costs,
                               opcode_name(LLVMGetInstructionOpcode(instruction)));
}

static LLVMValueRef build_units(const struct charge *charge, LLVMBuilderRef builder,
                                LLVMValueRef bytes)
{
    LLVMValueRef wide = LLVMBuildZExt(builder, bytes, charge->ir->i64, "");

    return LLVMBuildUDiv(builder, wide, ir_number(charge->ir, charge->ir->costs->bytes_per_unit),
                         "");
}

/* Declares a function of the run-time part that only reads, so that it hinders little. */
static LLVMValueRef declare_reader(const struct ir *ir, const char *name, LLVMTypeRef type)
{
    static const char *const attributes[] = {"nounwind", "willreturn", "nocallback"};
    LLVMValueRef function = LLVMGetNamedFunction(ir->module, name);

    if (function)
        return function;
    function = LLVMAddFunction(ir->module, name, type);
    for (size_t i = 0; i < sizeof attributes / sizeof *attributes; i++)
        LLVMAddAttributeAtIndex(
            function, LLVMAttributeFunctionIndex,
            LLVMCreateEnumAttribute(ir->context, ir_attribute_kind(attributes[i]), 0));
    return function;
}

static LLVMValueRef build_string_bytes(const struct charge *charge, LLVMBuilderRef builder,
                                       LLVMValueRef string)
{
    const struct ir *ir = charge->ir;
    LLVMTypeRef parameter = ir->pointer;
    LLVMTypeRef type = LLVMFunctionType(ir->i64, &parameter, 1, false);

    return LLVMBuildCall2(builder, type, declare_reader(ir, "gasmeter_string_bytes", type), &string,
                          1, "");
}

static LLVMValueRef build_common_bytes(const struct charge *charge, LLVMBuilderRef builder,
                                       const struct cost *cost, LLVMValueRef call)
{
    const struct ir *ir = charge->ir;
    LLVMTypeRef parameters[] = {ir->pointer, ir->pointer, ir->i64};
    LLVMTypeRef type = LLVMFunctionType(ir->i64, parameters, 3, false);
    LLVMValueRef arguments[] = {LLVMGetOperand(call, cost->first),
                                LLVMGetOperand(call, cost->second),
                                cost->bytes == COST_LIMITED ? LLVMGetOperand(call, cost->third)
                                                            : ir_number(ir, UINT64_MAX)};

    return LLVMBuildCall2(builder, type, declare_reader(ir, "gasmeter_common_bytes", type),
                          arguments, 3, "");
}

/* Does the call have all arguments that its cost names? Anybody may declare anything. */
static bool has_arguments(const struct cost *cost, LLVMValueRef call)
{
    unsigned count = LLVMGetNumArgOperands(call);

    switch (cost->bytes) {
    case COST_STRING:
        return cost->first < count;
    case COST_STRINGS:
        return cost->first < count && cost->second < count;
    case COST_LIMITED:
        return cost->first < count && cost->second < count && cost->third < count;
    default:
        return true;
    }
}

LLVMValueRef charge_before(struct charge *charge, LLVMBuilderRef builder, LLVMValueRef instruction)
{
    const struct cost *cost = cost_of(charge, instruction);
    LLVMValueRef bytes = bytes_argument(cost, instruction);

    if (!cost || !has_arguments(cost, instruction) ||
        convention_is_free(&charge->convention, instruction))
        return NULL;
    if (bytes)
        return LLVMIsAConstantInt(bytes) ? NULL : build_units(charge, builder, bytes);
    switch (cost->bytes) {
    case COST_STRING:
        return build_units(
            charge, builder,
            build_string_bytes(charge, builder, LLVMGetOperand(instruction, cost->first)));
    case COST_STRINGS:
    case COST_LIMITED:
        return build_units(charge, builder, build_common_bytes(charge, builder, cost, instruction));
    default:
        return NULL;
    }
}

LLVMValueRef charge_after(struct charge *charge, LLVMBuilderRef builder, LLVMValueRef instruction)
{
    const struct cost *cost = cost_of(charge, instruction);

    if (!cost || cost->bytes != COST_RESULT ||
        LLVMGetTypeKind(LLVMTypeOf(instruction)) != LLVMIntegerTypeKind)
        return NULL;
    return build_units(charge, builder, instruction);
}

bool charge_leaves(const struct charge *charge, LLVMValueRef instruction)
{
    const char *name = ir_callee_name(instruction);

    if (!ir_is_call(instruction))
        return false;
    if (ir_starts_with(name, "llvm."))
        return ir_starts_with(name, "llvm.trap") || ir_starts_with(name, "llvm.eh.sjlj") ||
               ir_starts_with(name, "llvm.ubsantrap") || ir_starts_with(name, "llvm.debugtrap");
    if (LLVMIsAInlineAsm(LLVMGetCalledValue(instruction)))
        return false;
    return !ir_libc_call(charge->ir, instruction) && !charge_carries(charge, instruction);
}

bool charge_dispatches(LLVMValueRef instruction)
{
    return LLVMIsAIndirectBrInst(instruction) ||
           (LLVMIsASwitchInst(instruction) && LLVMGetNumSuccessors(instruction) > CHARGE_CASES_MAX);
}

bool charge_carries(const struct charge *charge, LLVMValueRef instruction)
{
    LLVMValueRef callee = LLVMIsACallInst(instruction) ? ir_callee_here(instruction) : NULL;

    return charge->bounded && callee && pointer_set_find(charge->bounded, callee, NULL);
}
