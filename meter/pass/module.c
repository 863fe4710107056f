/* SPDX-License-Identifier: Apache-2.0 */
#include "meter/pass/module.h"

#include <stdlib.h>
#include <string.h>

#include "meter/pass/ir.h"

/* ---- alignment ---- */

/* Bytes: a whole word, and for what is as large two of them. */
enum { WORD = 8, TWO_WORDS = 16 };

static void raise(const struct ir *ir, LLVMValueRef variable, LLVMTypeRef type)
{
    LLVMTypeKind kind = LLVMGetTypeKind(type);
    unsigned wanted;

    if (kind != LLVMArrayTypeKind && kind != LLVMStructTypeKind)
        return;
    wanted = LLVMABISizeOfType(ir->layout, type) < TWO_WORDS ? WORD : TWO_WORDS;
    if (LLVMGetAlignment(variable) < wanted)
        LLVMSetAlignment(variable, wanted);
}

static void raise_locals(const struct ir *ir, LLVMValueRef function)
{
    for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(function); block;
         block = LLVMGetNextBasicBlock(block))
        for (LLVMValueRef instruction = LLVMGetFirstInstruction(block); instruction;
             instruction = LLVMGetNextInstruction(instruction))
            if (LLVMIsAAllocaInst(instruction))
                raise(ir, instruction, LLVMGetAllocatedType(instruction));
}

/* What a linker or a loop over a section puts in a row has no room for gaps. */
static bool is_in_section(LLVMValueRef global)
{
    const char *section = LLVMGetSection(global);

    return section && *section;
}

void alignment_raise(const struct ir *ir)
{
    for (LLVMValueRef global = LLVMGetFirstGlobal(ir->module); global;
         global = LLVMGetNextGlobal(global))
        if (!LLVMIsDeclaration(global) && !is_in_section(global) &&
            LLVMGetLinkage(global) != LLVMAppendingLinkage)
            raise(ir, global, LLVMGlobalGetValueType(global));
    for (LLVMValueRef function = LLVMGetFirstFunction(ir->module); function;
         function = LLVMGetNextFunction(function))
        raise_locals(ir, function);
}

/* ---- attributes ---- */

static const char *const dropped[] = {
    "memory", "willreturn", "speculatable", "nosync", "mustprogress", "allockind", "nocallback",
};

static void strip_function(LLVMValueRef function)
{
    for (size_t i = 0; i < sizeof dropped / sizeof *dropped; i++)
        LLVMRemoveEnumAttributeAtIndex(function, LLVMAttributeFunctionIndex,
                                       ir_attribute_kind(dropped[i]));
    LLVMRemoveStringAttributeAtIndex(function, LLVMAttributeFunctionIndex, "alloc-family", 12);
}

static void strip_call(const struct ir *ir, LLVMValueRef call)
{
    LLVMAttributeRef no_builtin =
        LLVMCreateEnumAttribute(ir->context, ir_attribute_kind("nobuiltin"), 0);

    for (size_t i = 0; i < sizeof dropped / sizeof *dropped; i++)
        LLVMRemoveCallSiteEnumAttribute(call, LLVMAttributeFunctionIndex,
                                        ir_attribute_kind(dropped[i]));
    LLVMRemoveCallSiteEnumAttribute(call, LLVMAttributeFunctionIndex, ir_attribute_kind("builtin"));
    LLVMAddCallSiteAttribute(call, LLVMAttributeFunctionIndex, no_builtin);
}

static bool is_stripped(const struct ir *ir, LLVMValueRef instruction)
{
    return ir_is_call(instruction) && !ir_is_intrinsic_call(instruction) &&
           !LLVMIsAInlineAsm(LLVMGetCalledValue(instruction)) && !ir_libc_call(ir, instruction);
}

static void strip_calls(const struct ir *ir, LLVMValueRef function)
{
    for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(function); block;
         block = LLVMGetNextBasicBlock(block))
        for (LLVMValueRef instruction = LLVMGetFirstInstruction(block); instruction;
             instruction = LLVMGetNextInstruction(instruction))
            if (is_stripped(ir, instruction))
                strip_call(ir, instruction);
}

/* The table's functions of libc keep what clang knows of them. */
static bool is_known(const struct ir *ir, LLVMValueRef function, const char *name)
{
    return ir_starts_with(name, "llvm.") ||
           (!ir_has_body(function) && cost_of_call(ir->costs, name));
}

static void give_to_runtime(LLVMValueRef function, const char *name)
{
    static const struct {
        const char *name;
        const char *own;
    } calls[] = {
        {"_exit", "gasmeter_call_exit"},      {"_Exit", "gasmeter_call_exit"},
        {"execl", "gasmeter_call_execl"},     {"execle", "gasmeter_call_execle"},
        {"execlp", "gasmeter_call_execlp"},   {"execv", "gasmeter_call_execv"},
        {"execve", "gasmeter_call_execve"},   {"execveat", "gasmeter_call_execveat"},
        {"execvp", "gasmeter_call_execvp"},   {"execvpe", "gasmeter_call_execvpe"},
        {"fexecve", "gasmeter_call_fexecve"}, {"sigaction", "gasmeter_call_sigaction"},
        {"signal", "gasmeter_call_signal"},   {"vfork", "gasmeter_call_vfork"},
    };

    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        LLVMValueRef own;

        if (strcmp(name, calls[i].name) != 0)
            continue;
        own = LLVMGetNamedFunction(LLVMGetGlobalParent(function), calls[i].own);
        if (!own)
            own = LLVMAddFunction(LLVMGetGlobalParent(function), calls[i].own,
                                  LLVMGlobalGetValueType(function));
        LLVMReplaceAllUsesWith(function, own);
    }
}

void attributes_prepare(const struct ir *ir)
{
    for (LLVMValueRef function = LLVMGetFirstFunction(ir->module); function;
         function = LLVMGetNextFunction(function)) {
        size_t length;
        const char *name = LLVMGetValueName2(function, &length);

        if (LLVMGetLinkage(function) == LLVMAvailableExternallyLinkage)
            LLVMSetLinkage(function, LLVMInternalLinkage);
        if (!is_known(ir, function, name))
            strip_function(function);
        if (!ir_has_body(function))
            give_to_runtime(function, name);
        strip_calls(ir, function);
    }
}

/* ---- banks ---- */

/* By name, so that a build comes out the same each time. */
static unsigned bank_of(LLVMValueRef function)
{
    size_t length;
    const char *name = LLVMGetValueName2(function, &length);
    unsigned hash = 5381;

    for (size_t i = 0; i < length; i++)
        hash = hash * 33 + (unsigned char)name[i];
    return (hash ^ hash >> 7) % SUPPORT_BANKS;
}

static LLVMValueRef address_of(const struct ir *ir, LLVMValueRef banks, unsigned bank)
{
    LLVMValueRef indices[] = {ir_number(ir, 0), ir_number(ir, bank)};

    return LLVMConstInBoundsGEP2(LLVMGlobalGetValueType(banks), banks, indices, 2);
}

/* All of a function's accesses or none: a load of one bank and a store to another would lose. */
static void move_accesses(LLVMValueRef instruction, LLVMValueRef banks, LLVMValueRef bank)
{
    for (int i = 0; i < LLVMGetNumOperands(instruction); i++)
        if (LLVMGetOperand(instruction, (unsigned)i) == banks)
            LLVMSetOperand(instruction, (unsigned)i, bank);
}

void banks_spread(const struct ir *ir)
{
    LLVMValueRef banks = LLVMGetNamedGlobal(ir->module, "gasmeter_banks");

    if (!banks)
        return;
    for (LLVMValueRef function = LLVMGetFirstFunction(ir->module); function;
         function = LLVMGetNextFunction(function)) {
        LLVMValueRef bank = address_of(ir, banks, bank_of(function));

        for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(function); block;
             block = LLVMGetNextBasicBlock(block))
            for (LLVMValueRef instruction = LLVMGetFirstInstruction(block); instruction;
                 instruction = LLVMGetNextInstruction(instruction))
                move_accesses(instruction, banks, bank);
    }
}

/* ---- counts that nothing reads ---- */

static const char unread[] = "gasmeter-carry-unread";

/* One function at work. A block's number in `live` says that the carry is read behind its
 * beginning, before anybody stores to it. */
struct search {
    LLVMValueRef carry;
    LLVMValueRef function;
    struct pointer_set live;
    bool changed;
    bool removes;
};

void unread_mark(const struct ir *ir, LLVMValueRef function)
{
    LLVMAddAttributeAtIndex(
        function, LLVMAttributeFunctionIndex,
        LLVMCreateStringAttribute(ir->context, unread, (unsigned)strlen(unread), "", 0));
}

/* Only functions of the module's own, called by name, take over what is pending. */
static bool calls_reader(LLVMValueRef instruction)
{
    LLVMValueRef callee = ir_callee_here(instruction);

    return callee && ir_is_own(callee);
}

static bool returns_to_reader(LLVMValueRef instruction, LLVMValueRef function)
{
    return LLVMIsAReturnInst(instruction) && ir_is_own(function) &&
           !LLVMGetStringAttributeAtIndex(function, LLVMAttributeFunctionIndex, unread,
                                          (unsigned)strlen(unread));
}

static bool names(LLVMValueRef instruction, LLVMValueRef value)
{
    for (unsigned i = 0; i < (unsigned)LLVMGetNumOperands(instruction); i++)
        if (LLVMGetOperand(instruction, i) == value)
            return true;
    return false;
}

static bool stores(LLVMValueRef instruction, LLVMValueRef carry)
{
    return LLVMIsAStoreInst(instruction) && LLVMGetOperand(instruction, 1) == carry;
}

/* Is the carry read behind the beginning of one of the blocks that the last instruction leads to?
 */
static bool is_live_behind(const struct search *search, LLVMValueRef last)
{
    for (unsigned i = 0; i < LLVMGetNumSuccessors(last); i++)
        if (pointer_set_find(&search->live, LLVMGetSuccessor(last, i), NULL))
            return true;
    return false;
}

static void search_block(struct search *search, LLVMBasicBlockRef block)
{
    LLVMValueRef instruction = LLVMGetLastInstruction(block), before;
    bool live = is_live_behind(search, instruction);

    for (; instruction; instruction = before) {
        before = LLVMGetPreviousInstruction(instruction);
        if (stores(instruction, search->carry)) {
            if (!live && search->removes)
                LLVMInstructionEraseFromParent(instruction);
            live = false;
        } else {
            live |= names(instruction, search->carry) || calls_reader(instruction) ||
                    returns_to_reader(instruction, search->function);
        }
    }
    if (live && !pointer_set_find(&search->live, block, NULL)) {
        pointer_set_add(&search->live, block, 0);
        search->changed = true;
    }
}

static void search_blocks(struct search *search)
{
    search->changed = false;
    for (LLVMBasicBlockRef block = LLVMGetLastBasicBlock(search->function); block;
         block = LLVMGetPreviousBasicBlock(block))
        search_block(search, block);
}

static void remove_in(LLVMValueRef function, LLVMValueRef carry)
{
    struct search search = {.carry = carry, .function = function};

    do
        search_blocks(&search);
    while (search.changed);
    search.removes = true;
    search_blocks(&search);
    pointer_set_free(&search.live);
}

void unread_remove(const struct ir *ir)
{
    LLVMValueRef carry = LLVMGetNamedGlobal(ir->module, "gasmeter_carry");

    for (LLVMValueRef function = LLVMGetFirstFunction(ir->module); carry && function;
         function = LLVMGetNextFunction(function))
        if (ir_has_body(function))
            remove_in(function, carry);
}

/* ---- what is not metered ---- */

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
