/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "meter/pass/ir/pointer_set.h"
#include "meter/pass/survey.h"

static void survey_note(struct buf *notes, char kind, const char *text)
{
    buf_append_byte(notes, kind);
    buf_append_byte(notes, ' ');
    buf_append(notes, text, strlen(text) + 1);
}

static void note_trouble(struct buf *notes, const char *what, const char *detail,
                         LLVMValueRef function)
{
    size_t length;

    buf_printf(notes, "X %s%s in %s", what, detail, LLVMGetValueName2(function, &length));
    buf_append_byte(notes, '\0');
}

static bool is_long_double(LLVMTypeRef type)
{
    LLVMTypeKind kind = LLVMGetTypeKind(type);

    return kind == LLVMX86_FP80TypeKind || kind == LLVMFP128TypeKind ||
           kind == LLVMPPC_FP128TypeKind;
}

/* "" is a barrier for the compiler, and runs nothing. */
static bool is_assembly(LLVMValueRef instruction)
{
    LLVMValueRef callee = ir_is_call(instruction) ? LLVMGetCalledValue(instruction) : NULL;
    size_t length;

    return callee && LLVMIsAInlineAsm(callee) && *LLVMGetInlineAsmAsmString(callee, &length);
}

static bool computes_long_double(LLVMValueRef instruction)
{
    for (int i = 0; i < LLVMGetNumOperands(instruction); i++) {
        LLVMValueRef operand = LLVMGetOperand(instruction, (unsigned)i);

        if (!LLVMIsABasicBlock(operand) && is_long_double(LLVMTypeOf(operand)))
            return true;
    }
    return is_long_double(LLVMTypeOf(instruction));
}

/* What was told of a function already: once each is enough. */
struct told {
    bool assembly;
    bool long_double;
    bool intrinsic;
};

static void survey_instruction(const struct ir *ir, LLVMValueRef instruction, LLVMValueRef function,
                               struct told *told, struct buf *notes)
{
    if (is_assembly(instruction) && !told->assembly) {
        told->assembly = true;
        note_trouble(notes, "inline assembly", "", function);
    }
    if (computes_long_double(instruction) && !told->long_double) {
        told->long_double = true;
        note_trouble(notes, "long double", "", function);
    }
    if (ir_is_intrinsic_call(instruction) && !told->intrinsic &&
        !cost_of_intrinsic(ir->costs, ir_callee_name(instruction))) {
        told->intrinsic = true;
        note_trouble(notes, "unknown intrinsic ", ir_callee_name(instruction), function);
    }
}

static void survey_function(const struct ir *ir, LLVMValueRef function, struct buf *notes)
{
    struct told told = {0};

    for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(function); block;
         block = LLVMGetNextBasicBlock(block))
        for (LLVMValueRef instruction = LLVMGetFirstInstruction(block); instruction;
             instruction = LLVMGetNextInstruction(instruction))
            survey_instruction(ir, instruction, function, &told, notes);
}

void survey(const struct ir *ir, struct buf *notes)
{
    size_t length;

    buf_printf(notes, "T %u/%.16s", ir->costs->version, ir->costs->hash);
    buf_append_byte(notes, '\0');
    if (*LLVMGetModuleInlineAsm(ir->module, &length))
        survey_note(notes, 'X', "assembly outside of functions");
    for (LLVMValueRef alias = LLVMGetFirstGlobalAlias(ir->module); alias;
         alias = LLVMGetNextGlobalAlias(alias))
        survey_note(notes, 'D', LLVMGetValueName2(alias, &length));
    for (LLVMValueRef function = LLVMGetFirstFunction(ir->module); function;
         function = LLVMGetNextFunction(function)) {
        const char *name = LLVMGetValueName2(function, &length);

        if (ir_has_body(function)) {
            if (LLVMGetLinkage(function) != LLVMInternalLinkage)
                survey_note(notes, 'D', name);
            survey_function(ir, function, notes);
        } else if (!ir_starts_with(name, "llvm.") && LLVMGetFirstUse(function) &&
                   !cost_of_call(ir->costs, name)) {
            survey_note(notes, 'C', name);
        }
    }
}

/* llvm.used keeps the notes in the object and, with the linker's help, in the program. */
static void survey_keep(const struct ir *ir, LLVMValueRef global)
{
    LLVMValueRef old = LLVMGetNamedGlobal(ir->module, "llvm.used");
    LLVMValueRef initializer = old ? LLVMGetInitializer(old) : NULL;
    unsigned count = initializer ? (unsigned)LLVMGetNumOperands(initializer) : 0;
    LLVMValueRef *kept = pass_allocate(count + 1, sizeof(LLVMValueRef));
    LLVMValueRef used;

    for (unsigned i = 0; i < count; i++)
        kept[i] = LLVMGetOperand(initializer, i);
    kept[count] = global;
    if (old)
        LLVMDeleteGlobal(old);
    used = LLVMAddGlobal(ir->module, LLVMArrayType2(ir->pointer, count + 1), "llvm.used");
    LLVMSetLinkage(used, LLVMAppendingLinkage);
    LLVMSetSection(used, "llvm.metadata");
    LLVMSetInitializer(used, LLVMConstArray2(ir->pointer, kept, count + 1));
    free(kept);
}

void survey_attach(const struct ir *ir, const struct buf *notes)
{
    LLVMValueRef text = LLVMConstStringInContext2(ir->context, notes->data, notes->length, true);
    LLVMValueRef global = LLVMAddGlobal(ir->module, LLVMTypeOf(text), "gasmeter.notes");

    LLVMSetInitializer(global, text);
    LLVMSetGlobalConstant(global, true);
    LLVMSetLinkage(global, LLVMPrivateLinkage);
    LLVMSetSection(global, "gasmeter_notes");
    LLVMSetAlignment(global, 1);
    survey_keep(ir, global);
}

const char *survey_next(const struct buf *notes, char kind, const char *from)
{
    const char *end = notes->data + notes->length;

    for (; from < end; from += strlen(from) + 1)
        if (*from == kind)
            return from;
    return NULL;
}
