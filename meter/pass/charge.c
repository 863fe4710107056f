/* SPDX-License-Identifier: Apache-2.0 */
#include "meter/pass/charge.h"

#include <llvm-c/Core.h>
#include <string.h>

/* ---- names --------------------------------------------------------------- */

static const char *name_of(LLVMValueRef value)
{
    size_t length;

    return LLVMGetValueName2(value, &length);
}

static bool is_block_named(LLVMValueRef value, const char *prefix)
{
    return ir_starts_with(name_of(value), prefix);
}

/* clang's blocks of an expanded va_arg that fetch the argument, without the one that continues. */
static bool is_va_block(LLVMBasicBlockRef block)
{
    const char *name = LLVMGetBasicBlockName(block);

    return ir_starts_with(name, "vaarg.") && !ir_starts_with(name, "vaarg.end");
}

static bool is_va_list_type(LLVMTypeRef type)
{
    const char *name;

    if (LLVMGetTypeKind(type) == LLVMArrayTypeKind)
        type = LLVMGetElementType(type);
    name = LLVMGetTypeKind(type) == LLVMStructTypeKind ? LLVMGetStructName(type) : NULL;
    return name && (ir_starts_with(name, "struct.__va_list") ||
                    ir_starts_with(name, "struct.std::__va_list"));
}

/* ---- va_arg --------------------------------------------------------------- */

static bool is_va_field(LLVMValueRef value)
{
    return LLVMIsAGetElementPtrInst(value) && is_va_list_type(LLVMGetGEPSourceElementType(value));
}

/* A comparison of two pointers to members: aarch64 keeps a flag in another bit than x86-64. */
static bool is_member_pointer(LLVMValueRef value)
{
    return is_block_named(value, "lhs.memptr.") || is_block_named(value, "rhs.memptr.");
}

/* Returns true if the instruction passes on a value from a va_list field or a member pointer. */
static bool passes_on(LLVMValueRef instruction)
{
    switch (LLVMGetInstructionOpcode(instruction)) {
    case LLVMGetElementPtr:
    case LLVMAdd:
    case LLVMAnd:
    case LLVMOr:
    case LLVMICmp:
    case LLVMPHI:
    case LLVMIntToPtr:
    case LLVMPtrToInt:
    case LLVMSExt:
    case LLVMZExt:
        return true;
    default:
        return ir_starts_with(ir_callee_name(instruction), "llvm.ptrmask");
    }
}

static void follow_value(struct convention *convention, LLVMValueRef value)
{
    if (pointer_set_find(&convention->worked_out, value, NULL))
        return;
    pointer_set_add(&convention->worked_out, value, 0);
    for (LLVMUseRef use = LLVMGetFirstUse(value); use; use = LLVMGetNextUse(use)) {
        LLVMValueRef user = LLVMGetUser(use);

        if (LLVMIsAInstruction(user) && passes_on(user))
            follow_value(convention, user);
    }
}

/* A load from a va_list field begins a chain of such values. */
static void find_va_loads(struct convention *convention, LLVMValueRef field)
{
    for (LLVMUseRef use = LLVMGetFirstUse(field); use; use = LLVMGetNextUse(use)) {
        LLVMValueRef user = LLVMGetUser(use);

        if (LLVMIsALoadInst(user))
            follow_value(convention, user);
    }
}

static bool is_worked_out(const struct convention *convention, LLVMValueRef value)
{
    return pointer_set_find(&convention->worked_out, value, NULL);
}

/* Returns true if the instruction works on a va_list or fetches its argument. */
static bool is_va_code(const struct convention *convention, LLVMValueRef instruction)
{
    if (is_worked_out(convention, instruction) || is_va_field(instruction) ||
        is_va_block(LLVMGetInstructionParent(instruction)))
        return true;
    switch (LLVMGetInstructionOpcode(instruction)) {
    case LLVMLoad:
        return is_worked_out(convention, LLVMGetOperand(instruction, 0));
    case LLVMStore:
        return is_va_field(LLVMGetOperand(instruction, 1));
    case LLVMBr:
        return LLVMIsConditional(instruction) &&
               is_worked_out(convention, LLVMGetCondition(instruction));
    default:
        return false;
    }
}

/* ---- the frame -------------------------------------------------------------- */

static LLVMValueRef base_of(LLVMValueRef pointer)
{
    while (LLVMIsAGetElementPtrInst(pointer) || LLVMIsAAddrSpaceCastInst(pointer))
        pointer = LLVMGetOperand(pointer, 0);
    return pointer;
}

static bool has_parameter_attribute(LLVMValueRef parameter, const char *attribute)
{
    LLVMValueRef function = LLVMGetParamParent(parameter);
    unsigned index = 1;

    while (LLVMGetParam(function, index - 1) != parameter)
        index++;
    return LLVMGetEnumAttributeAtIndex(function, index, ir_attribute_kind(attribute)) != NULL;
}

/* A structure that the source passes by value but the ABI by reference. For debuggers, clang keeps
 * its address in a variable of this name. */
static bool is_indirect_parameter(LLVMValueRef parameter)
{
    for (LLVMUseRef use = LLVMGetFirstUse(parameter); use; use = LLVMGetNextUse(use)) {
        LLVMValueRef user = LLVMGetUser(use);

        if (LLVMIsAStoreInst(user) && LLVMGetOperand(user, 0) == parameter &&
            strstr(name_of(LLVMGetOperand(user, 1)), ".indirect_addr"))
            return true;
    }
    return false;
}

static bool is_constant_address(LLVMValueRef pointer)
{
    for (int i = 1; i < LLVMGetNumOperands(pointer); i++)
        if (!LLVMIsAConstantInt(LLVMGetOperand(pointer, (unsigned)i)))
            return false;
    return true;
}

/* A local variable or a field of one, which a machine with enough registers keeps in registers.
 * Array elements with a variable index are memory on every machine. */
static bool is_frame(LLVMValueRef pointer)
{
    LLVMValueRef base = pointer;

    while (LLVMIsAGetElementPtrInst(base) && is_constant_address(base))
        base = LLVMGetOperand(base, 0);
    if (LLVMIsAAllocaInst(base))
        return true;
    return LLVMIsAArgument(base) &&
           (has_parameter_attribute(base, "byval") || has_parameter_attribute(base, "sret") ||
            is_indirect_parameter(base));
}

/* ---- arguments and results ---------------------------------------------------- */

static bool is_cast(LLVMValueRef value)
{
    return LLVMIsACastInst(value) != NULL;
}

/* clang's temporary for a structure that is passed in pieces: it has this name, or a type that no
 * source names. */
static bool is_assembly_place(LLVMValueRef base)
{
    LLVMTypeRef type = LLVMIsAAllocaInst(base) ? LLVMGetAllocatedType(base) : NULL;

    return (type && strstr(name_of(base), ".coerce")) ||
           (type && LLVMGetTypeKind(type) == LLVMStructTypeKind && LLVMIsLiteralStruct(type));
}

/* A copy into such a temporary. Other machines load the pieces from their original place. So its
 * address is not the argument of a call. */
static bool assembles_structure(LLVMValueRef instruction)
{
    return ir_starts_with(ir_callee_name(instruction), "llvm.memcpy.") &&
           is_assembly_place(base_of(LLVMGetOperand(instruction, 0)));
}

/* A loaded value that only a call uses. Another machine may load it as a part of something
 * larger. */
static bool feeds_call_only(LLVMValueRef value)
{
    LLVMUseRef use = LLVMGetFirstUse(value);

    if (!use || LLVMGetNextUse(use))
        return false;
    if (is_cast(LLVMGetUser(use)))
        return feeds_call_only(LLVMGetUser(use));
    return LLVMIsAInstruction(LLVMGetUser(use)) && ir_is_call(LLVMGetUser(use)) &&
           !assembles_structure(LLVMGetUser(use));
}

/* The result of a call, or a part of the result. */
static bool is_call_result(LLVMValueRef value)
{
    while (is_cast(value) || LLVMIsAExtractValueInst(value))
        value = LLVMGetOperand(value, 0);
    return LLVMIsAInstruction(value) && ir_is_call(value) && !ir_is_intrinsic_call(value);
}

/* Returns true if it is passed with byval: then the code generator copies it, and that copy is
 * charged. */
static bool is_copied_again(LLVMValueRef temporary)
{
    unsigned byval = ir_attribute_kind("byval");

    for (LLVMUseRef use = LLVMGetFirstUse(temporary); use; use = LLVMGetNextUse(use)) {
        LLVMValueRef user = LLVMGetUser(use);

        if (!LLVMIsAInstruction(user) || !ir_is_call(user))
            continue;
        for (unsigned i = 0; i < LLVMGetNumArgOperands(user); i++)
            if (LLVMGetOperand(user, i) == temporary &&
                LLVMGetCallSiteEnumAttribute(user, i + 1, byval))
                return true;
    }
    return false;
}

static bool is_small_copy(LLVMValueRef copy)
{
    LLVMValueRef size = LLVMGetOperand(copy, 2);

    return LLVMIsAConstantInt(size) && LLVMConstIntGetZExtValue(size) <= CONVENTION_SMALL;
}

/* A copy that prepares an argument. */
static bool is_argument_copy(LLVMValueRef instruction)
{
    LLVMValueRef to, from;

    if (!ir_starts_with(ir_callee_name(instruction), "llvm.memcpy."))
        return false;
    to = base_of(LLVMGetOperand(instruction, 0));
    from = base_of(LLVMGetOperand(instruction, 1));
    if (is_assembly_place(to) || is_assembly_place(from))
        return true;
    if (!LLVMIsAAllocaInst(to))
        return false;
    if (is_va_list_type(LLVMGetAllocatedType(to)))
        return true;
    return is_block_named(to, "byval-temp") && (is_small_copy(instruction) || is_copied_again(to));
}

/* ---- temporaries ------------------------------------------------------------------ */

/* A block that only ends a temporary's lifetime and branches on. */
static bool ends_life_only(LLVMBasicBlockRef block)
{
    LLVMValueRef last = LLVMGetBasicBlockTerminator(block);
    LLVMValueRef instruction = LLVMGetFirstInstruction(block);

    while (instruction != last && ir_starts_with(ir_callee_name(instruction), "llvm.lifetime.end"))
        instruction = LLVMGetNextInstruction(instruction);
    return instruction == last && LLVMIsABranchInst(last) && !LLVMIsConditional(last);
}

/* A function in a condition may return a structure in memory, a temporary. clang then sets a flag
 * when its lifetime begins, and tests the flag afterwards. */
static bool is_life_branch(LLVMValueRef branch)
{
    if (LLVMIsConditional(branch))
        return is_block_named(LLVMGetCondition(branch), "cleanup.is_active") &&
               ends_life_only(LLVMGetSuccessor(branch, 0));
    return ir_starts_with(LLVMGetBasicBlockName(LLVMGetInstructionParent(branch)),
                          "cleanup.action") &&
           ends_life_only(LLVMGetInstructionParent(branch));
}

/* aarch64 masks the guard of a static C++ variable; x86-64 compares the whole guard. */
static bool is_guard_mask(LLVMValueRef instruction)
{
    LLVMValueRef from = LLVMGetOperand(instruction, 0);

    return LLVMIsALoadInst(from) && is_block_named(LLVMGetOperand(from, 0), "_ZGV");
}

/* Returns the bytes of structures that this call copies as arguments, if the code generator makes
 * the copy (attribute byval). Sizes up to CONVENTION_SMALL count as 0, because another machine may
 * pass them in registers. */
static uint64_t convention_copied_bytes(const struct ir *ir, LLVMValueRef call)
{
    unsigned byval = ir_attribute_kind("byval");
    uint64_t sum = 0;

    for (unsigned i = 0; i < LLVMGetNumArgOperands(call); i++) {
        LLVMAttributeRef attribute = LLVMGetCallSiteEnumAttribute(call, i + 1, byval);
        uint64_t size;

        if (!attribute || is_block_named(base_of(LLVMGetOperand(call, i)), "agg.tmp"))
            continue;
        size = LLVMABISizeOfType(ir->layout, LLVMGetTypeAttributeValue(attribute));
        if (size > CONVENTION_SMALL)
            sum += size;
    }
    return sum;
}

/* ---- all of it ------------------------------------------------------------------ */

/* Analyses a function. Call convention_free() afterwards. */
static void convention_find(struct convention *convention, const struct ir *ir,
                            LLVMValueRef function)
{
    *convention = (struct convention){.ir = ir};
    for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(function); block;
         block = LLVMGetNextBasicBlock(block))
        for (LLVMValueRef instruction = LLVMGetFirstInstruction(block); instruction;
             instruction = LLVMGetNextInstruction(instruction))
            if (is_va_field(instruction))
                find_va_loads(convention, instruction);
            else if (is_member_pointer(instruction))
                follow_value(convention, instruction);
}

static void convention_free(struct convention *convention)
{
    pointer_set_free(&convention->worked_out);
}

/* Returns true if the instruction only serves the calling convention or the function's own
 * frame. */
static bool convention_is_free(const struct convention *convention, LLVMValueRef instruction)
{
    if (is_va_code(convention, instruction))
        return true;
    switch (LLVMGetInstructionOpcode(instruction)) {
    case LLVMLoad:
        return is_frame(LLVMGetOperand(instruction, 0)) || feeds_call_only(instruction);
    case LLVMStore:
        return is_frame(LLVMGetOperand(instruction, 1)) ||
               is_call_result(LLVMGetOperand(instruction, 0));
    case LLVMGetElementPtr:
        return is_constant_address(instruction);
    case LLVMAnd:
        return is_guard_mask(instruction);
    case LLVMCall:
        return is_argument_copy(instruction);
    case LLVMBr:
        return is_life_branch(instruction);
    default:
        return false;
    }
}

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

/* Returns an instruction's name in LLVM assembly; "default" for an unknown one. */
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

/* Returns the table's entry for a call of an intrinsic or a libc function. */
static const struct cost *cost_of(const struct charge *charge, LLVMValueRef instruction)
{
    const struct cost *cost;

    if (!ir_is_call(instruction))
        return NULL;
    if (!ir_is_intrinsic_call(instruction))
        return ir_charged_call(charge->ir, instruction);
    cost = cost_of_intrinsic(charge->ir->costs, ir_callee_name(instruction));
    return cost && ir_has_types(charge->ir, instruction, cost) ? cost : NULL;
}

/* Returns the argument with the number of bytes; NULL if the cost has none, or more than that. */
static LLVMValueRef bytes_argument(const struct cost *cost, LLVMValueRef instruction)
{
    const struct cost_term *term = cost ? &cost->terms[0] : NULL;

    if (!cost || cost->term_count != 1 || term->kind->reader || term->kind->result)
        return NULL;
    return LLVMGetOperand(instruction, term->arguments[0]);
}

static uint64_t units(const struct charge *charge, uint64_t bytes)
{
    return bytes / charge->ir->costs->bytes_per_unit;
}

/* Only small constants belong to the block's cost. Larger ones are charged at the copy, like sizes
 * known only at run time. */
static bool is_small_constant(LLVMValueRef bytes)
{
    return LLVMIsAConstantInt(bytes) && LLVMConstIntGetZExtValue(bytes) <= CHARGE_BYTES_MAX;
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
    if (bytes && is_small_constant(bytes))
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
    return LLVMBuildUDiv(builder, bytes, ir_number(charge->ir, charge->ir->costs->bytes_per_unit),
                         "");
}

/* Calls a function of the run-time part. LLVM optimises around it, because it only reads. */
static LLVMValueRef build_read(const struct ir *ir, LLVMBuilderRef builder, const char *name,
                               LLVMValueRef *arguments, unsigned count)
{
    static const char *const attributes[] = {"nounwind", "willreturn", "nocallback"};
    LLVMValueRef function = LLVMGetNamedFunction(ir->module, name);
    LLVMTypeRef types[COST_ARGUMENTS_MAX + 1], type;

    for (unsigned i = 0; i < count; i++)
        types[i] = LLVMTypeOf(arguments[i]);
    type = LLVMFunctionType(ir->i64, types, count, false);
    if (!function) {
        function = LLVMAddFunction(ir->module, name, type);
        for (size_t i = 0; i < sizeof attributes / sizeof *attributes; i++)
            LLVMAddAttributeAtIndex(
                function, LLVMAttributeFunctionIndex,
                LLVMCreateEnumAttribute(ir->context, ir_attribute_kind(attributes[i]), 0));
    }
    return LLVMBuildCall2(builder, type, function, arguments, count, "");
}

/* Returns how many of the arguments it has filled. */
static unsigned collect_arguments(const struct ir *ir, LLVMBuilderRef builder,
                                  const struct cost_term *term, LLVMValueRef call,
                                  LLVMValueRef arguments[])
{
    unsigned count = 0;

    for (const char *letter = term->kind->arguments; *letter; letter++, count++) {
        arguments[count] = LLVMGetOperand(call, term->arguments[count]);
        if (*letter == 'n')
            arguments[count] = LLVMBuildZExt(builder, arguments[count], ir->i64, "");
    }
    return count;
}

static void move_pointer(const struct ir *ir, LLVMBuilderRef builder, LLVMValueRef call,
                         unsigned argument, LLVMValueRef bytes)
{
    LLVMValueRef pointer = LLVMGetOperand(call, argument);

    LLVMSetOperand(
        call, argument,
        LLVMBuildInBoundsGEP2(builder, LLVMInt8TypeInContext(ir->context), pointer, &bytes, 1, ""));
}

/* Charges the equal part of two strings, and lets the call compare only the rest, so that long
 * equal strings are read once. */
static LLVMValueRef compare_the_rest(const struct ir *ir, LLVMBuilderRef builder,
                                     const struct cost_term *term, LLVMValueRef call)
{
    LLVMValueRef arguments[COST_ARGUMENTS_MAX], same;
    const bool limited = collect_arguments(ir, builder, term, call, arguments) == 3;

    if (!limited)
        arguments[2] = ir_number(ir, UINT64_MAX);
    same = build_read(ir, builder, term->kind->reader, arguments, 3);
    move_pointer(ir, builder, call, term->arguments[0], same);
    move_pointer(ir, builder, call, term->arguments[1], same);
    if (limited)
        LLVMSetOperand(call, term->arguments[2], LLVMBuildSub(builder, arguments[2], same, ""));
    return same;
}

static LLVMValueRef build_before(const struct ir *ir, LLVMBuilderRef builder,
                                 const struct cost_term *term, LLVMValueRef call)
{
    LLVMValueRef arguments[COST_ARGUMENTS_MAX];
    unsigned count;

    if (term->kind->compares)
        return compare_the_rest(ir, builder, term, call);
    count = collect_arguments(ir, builder, term, call, arguments);
    return term->kind->reader ? build_read(ir, builder, term->kind->reader, arguments, count)
                              : arguments[0];
}

static LLVMValueRef build_after(const struct ir *ir, LLVMBuilderRef builder,
                                const struct cost_term *term, LLVMValueRef call)
{
    LLVMValueRef arguments[COST_ARGUMENTS_MAX + 1], mark = NULL;
    const struct cost_kind *kind = term->kind;
    unsigned count;

    LLVMPositionBuilderBefore(builder, call);
    count = collect_arguments(ir, builder, term, call, arguments);
    if (kind->mark)
        mark = build_read(ir, builder, kind->mark, arguments, count);
    LLVMPositionBuilderBefore(builder, ir_after_call(call));
    if (mark)
        arguments[count++] = mark;
    else if (kind->result == 'n')
        arguments[count++] = LLVMBuildZExt(builder, call, ir->i64, "");
    else
        arguments[count++] = kind->result == 'i' ? LLVMBuildSExt(builder, call, ir->i64, "") : call;
    return kind->reader ? build_read(ir, builder, kind->reader, arguments, count) : arguments[0];
}

static bool is_after(const struct cost_term *term)
{
    return term->kind->result || term->kind->mark;
}

/* Most formats are constants, whose length the program's size bounds. */
static bool is_constant_format(const struct cost_term *term, LLVMValueRef call)
{
    LLVMValueRef text = LLVMGetOperand(call, term->arguments[0]);

    return term->kind->is_format && LLVMIsAGlobalVariable(text) && LLVMIsGlobalConstant(text);
}

/* Builds the units of all terms that are known before the call, or after it; NULL if none. */
static LLVMValueRef build_terms(const struct charge *charge, LLVMBuilderRef builder,
                                LLVMValueRef call, bool after)
{
    const struct cost *cost = cost_of(charge, call);
    LLVMValueRef bytes = bytes_argument(cost, call), sum = NULL;

    if (!cost || convention_is_free(&charge->convention, call) ||
        (bytes && is_small_constant(bytes)))
        return NULL;
    for (size_t i = 0; i < cost->term_count; i++) {
        const struct cost_term *term = &cost->terms[i];
        LLVMValueRef more;

        if (is_after(term) != after || is_constant_format(term, call))
            continue;
        more = (after ? build_after : build_before)(charge->ir, builder, term, call);
        sum = sum ? LLVMBuildAdd(builder, sum, more, "") : more;
    }
    return sum ? build_units(charge, builder, sum) : NULL;
}

bool charge_is_variable(const struct charge *charge, LLVMValueRef instruction)
{
    const struct cost *cost = cost_of(charge, instruction);
    LLVMValueRef bytes = bytes_argument(cost, instruction);

    return cost && !convention_is_free(&charge->convention, instruction) &&
           (bytes ? !is_small_constant(bytes) : cost->term_count > 0);
}

LLVMValueRef charge_before(struct charge *charge, LLVMBuilderRef builder, LLVMValueRef instruction)
{
    LLVMPositionBuilderBefore(builder, instruction);
    return build_terms(charge, builder, instruction, false);
}

LLVMValueRef charge_after(struct charge *charge, LLVMBuilderRef builder, LLVMValueRef instruction)
{
    return build_terms(charge, builder, instruction, true);
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
