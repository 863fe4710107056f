/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "meter/pass/convention.h"

/* ---- names --------------------------------------------------------------- */

static const char *name_of(LLVMValueRef value)
{
    size_t length;

    return LLVMGetValueName2(value, &length);
}

static bool is_named(LLVMValueRef value, const char *prefix)
{
    return ir_starts_with(name_of(value), prefix);
}

/* clang's blocks of an expanded va_arg: where it fetches the argument, not where it goes on. */
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

/* Two pointers to members, compared: aarch64 has a bit in another place than x86-64. */
static bool is_member_pointer(LLVMValueRef value)
{
    return is_named(value, "lhs.memptr.") || is_named(value, "rhs.memptr.");
}

/* Passes a result on that is worked out from a field of a va_list, or from such a pointer. */
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

/* What is loaded from a field of a va_list begins a chain. */
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

/* Works on a va_list, or fetches the argument that it leads to. */
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

/* A structure that came by reference though the source passes it by value: clang keeps the
 * address of it, for debuggers, in a variable of this name. */
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

/* A variable of the function, or a field of one: a machine with enough registers has it
 * there. Elements of arrays, by an index that varies, are memory everywhere. */
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

/* Where clang puts a structure together that comes or goes in pieces: of a type that no
 * source names, or of this name. */
static bool is_assembly_place(LLVMValueRef base)
{
    LLVMTypeRef type = LLVMIsAAllocaInst(base) ? LLVMGetAllocatedType(base) : NULL;

    return (type && strstr(name_of(base), ".coerce")) ||
           (type && LLVMGetTypeKind(type) == LLVMStructTypeKind && LLVMIsLiteralStruct(type));
}

/* Copies a structure to where it is put together: another machine loads the pieces from where
 * they are, so that the address is no argument of a call. */
static bool is_assembly(LLVMValueRef instruction)
{
    return ir_starts_with(ir_callee_name(instruction), "llvm.memcpy.") &&
           is_assembly_place(base_of(LLVMGetOperand(instruction, 0)));
}

/* A loaded value that goes nowhere but into a call: on another machine it may have been
 * loaded as a part of something larger. */
static bool feeds_call_only(LLVMValueRef value)
{
    LLVMUseRef use = LLVMGetFirstUse(value);

    if (!use || LLVMGetNextUse(use))
        return false;
    if (is_cast(LLVMGetUser(use)))
        return feeds_call_only(LLVMGetUser(use));
    return LLVMIsAInstruction(LLVMGetUser(use)) && ir_is_call(LLVMGetUser(use)) &&
           !is_assembly(LLVMGetUser(use));
}

/* The result of a call, or a part of it. */
static bool is_call_result(LLVMValueRef value)
{
    while (is_cast(value) || LLVMIsAExtractValueInst(value))
        value = LLVMGetOperand(value, 0);
    return LLVMIsAInstruction(value) && ir_is_call(value) && !ir_is_intrinsic_call(value);
}

/* Is it passed with byval somewhere? Then the code generator copies it, and is charged. */
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

/* A copy that makes an argument ready. */
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
    return is_named(to, "byval-temp") && (is_small_copy(instruction) || is_copied_again(to));
}

/* ---- temporaries ------------------------------------------------------------------ */

/* Says that a temporary's life is over, and leads on. */
static bool ends_life_only(LLVMBasicBlockRef block)
{
    LLVMValueRef last = LLVMGetBasicBlockTerminator(block);
    LLVMValueRef instruction = LLVMGetFirstInstruction(block);

    while (instruction != last && ir_starts_with(ir_callee_name(instruction), "llvm.lifetime.end"))
        instruction = LLVMGetNextInstruction(instruction);
    return instruction == last && LLVMIsABranchInst(last) && !LLVMIsConditional(last);
}

/*
 * A structure that a function returns in a part of a condition is a temporary, where it does not
 * come in registers: then clang keeps a flag whether its life has begun, and asks it afterwards.
 */
static bool is_life_branch(LLVMValueRef branch)
{
    if (LLVMIsConditional(branch))
        return is_named(LLVMGetCondition(branch), "cleanup.is_active") &&
               ends_life_only(LLVMGetSuccessor(branch, 0));
    return ir_starts_with(LLVMGetBasicBlockName(LLVMGetInstructionParent(branch)),
                          "cleanup.action") &&
           ends_life_only(LLVMGetInstructionParent(branch));
}

/* aarch64 masks what x86-64 compares as it is: the guard of a static variable in C++. */
static bool is_guard_mask(LLVMValueRef instruction)
{
    LLVMValueRef from = LLVMGetOperand(instruction, 0);

    return LLVMIsALoadInst(from) && is_named(LLVMGetOperand(from, 0), "_ZGV");
}

uint64_t convention_copied_bytes(const struct ir *ir, LLVMValueRef call)
{
    unsigned byval = ir_attribute_kind("byval");
    uint64_t sum = 0;

    for (unsigned i = 0; i < LLVMGetNumArgOperands(call); i++) {
        LLVMAttributeRef attribute = LLVMGetCallSiteEnumAttribute(call, i + 1, byval);
        uint64_t size;

        if (!attribute || is_named(base_of(LLVMGetOperand(call, i)), "agg.tmp"))
            continue;
        size = LLVMABISizeOfType(ir->layout, LLVMGetTypeAttributeValue(attribute));
        if (size > CONVENTION_SMALL)
            sum += size;
    }
    return sum;
}

/* ---- all of it ------------------------------------------------------------------ */

void convention_find(struct convention *convention, const struct ir *ir, LLVMValueRef function)
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

void convention_free(struct convention *convention)
{
    pointer_set_free(&convention->worked_out);
}

bool convention_is_free(const struct convention *convention, LLVMValueRef instruction)
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
