/* SPDX-License-Identifier: Apache-2.0 */
#include "meter/pass/module.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "meter/pass/ir.h"

/* ---- alignment ---- */

/* In bytes: a word, and two words for variables of at least that size. */
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

/* A linker or a loop over a section expects its variables without gaps. */
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

/* The attributes of libc functions that the table charges stay. */
static bool is_known(const struct ir *ir, LLVMValueRef function, const char *name)
{
    const struct cost *cost = ir_has_body(function) ? NULL : cost_of_call(ir->costs, name);

    return ir_starts_with(name, "llvm.") || (cost && !cost->leaves && !cost->uncounted);
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

/* Hashes the name, so that builds are reproducible. */
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

/* Redirects all of a function's accesses or none: loading from one bank and storing to another
 * would lose units. */
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

/* ---- functions that the program looks up ---- */

static void note_lookup(const struct ir *ir, LLVMBuilderRef builder, LLVMValueRef call)
{
    LLVMTypeRef parameters[] = {ir->pointer, ir->pointer};
    LLVMTypeRef type = LLVMFunctionType(ir->none, parameters, 2, false);
    LLVMValueRef function = LLVMGetNamedFunction(ir->module, "gasmeter_note_lookup");
    LLVMValueRef arguments[] = {call, LLVMGetOperand(call, 1)};

    if (!function)
        function = LLVMAddFunction(ir->module, "gasmeter_note_lookup", type);
    LLVMPositionBuilderBefore(builder, LLVMGetNextInstruction(call));
    LLVMBuildCall2(builder, type, function, arguments, 2, "");
}

static bool is_lookup(const struct ir *ir, LLVMValueRef instruction)
{
    const char *name = ir_callee_name(instruction);

    return (strcmp(name, "dlsym") == 0 || strcmp(name, "dlvsym") == 0) &&
           LLVMGetInstructionOpcode(instruction) == LLVMCall &&
           LLVMGetNumArgOperands(instruction) >= 2 && LLVMTypeOf(instruction) == ir->pointer &&
           LLVMTypeOf(LLVMGetOperand(instruction, 1)) == ir->pointer &&
           LLVMGetTailCallKind(instruction) != LLVMTailCallKindMustTail;
}

void lookups_note(const struct ir *ir)
{
    LLVMBuilderRef builder = LLVMCreateBuilderInContext(ir->context);

    for (LLVMValueRef function = LLVMGetFirstFunction(ir->module); function;
         function = LLVMGetNextFunction(function))
        for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(function); block;
             block = LLVMGetNextBasicBlock(block))
            for (LLVMValueRef instruction = LLVMGetFirstInstruction(block); instruction;
                 instruction = LLVMGetNextInstruction(instruction))
                if (is_lookup(ir, instruction))
                    note_lookup(ir, builder, instruction);
    LLVMDisposeBuilder(builder);
}

/* ---- counts that nothing reads ---- */

static const char dead_carry[] = "gasmeter-carry-unread";

/* Searches one function backwards for dead stores. A block is in `live` if the carry is read after
 * the block's beginning, before any store. */
struct search {
    LLVMValueRef carry;
    LLVMValueRef function;
    struct pointer_set live;
    bool changed;
    bool removes;
};

void dead_stores_mark(const struct ir *ir, LLVMValueRef function)
{
    LLVMAddAttributeAtIndex(
        function, LLVMAttributeFunctionIndex,
        LLVMCreateStringAttribute(ir->context, dead_carry, (unsigned)strlen(dead_carry), "", 0));
}

/* Only internal functions that are called by name take over pending units. */
static bool calls_reader(LLVMValueRef instruction)
{
    LLVMValueRef callee = ir_callee_here(instruction);

    return callee && ir_is_own(callee);
}

static bool returns_to_reader(LLVMValueRef instruction, LLVMValueRef function)
{
    return LLVMIsAReturnInst(instruction) && ir_is_own(function) &&
           !LLVMGetStringAttributeAtIndex(function, LLVMAttributeFunctionIndex, dead_carry,
                                          (unsigned)strlen(dead_carry));
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

/* Returns true if one of the terminator's successors is live. */
static bool is_live_after(const struct search *search, LLVMValueRef last)
{
    for (unsigned i = 0; i < LLVMGetNumSuccessors(last); i++)
        if (pointer_set_find(&search->live, LLVMGetSuccessor(last, i), NULL))
            return true;
    return false;
}

static void search_block(struct search *search, LLVMBasicBlockRef block)
{
    LLVMValueRef instruction = LLVMGetLastInstruction(block), before;
    bool live = is_live_after(search, instruction);

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

void dead_stores_remove(const struct ir *ir)
{
    LLVMValueRef carry = LLVMGetNamedGlobal(ir->module, "gasmeter_carry");

    for (LLVMValueRef function = LLVMGetFirstFunction(ir->module); carry && function;
         function = LLVMGetNextFunction(function))
        if (ir_has_body(function))
            remove_in(function, carry);
}

/* ---- functions of libc that are called by pointers ---- */

static bool is_callee(LLVMValueRef user, LLVMValueRef function)
{
    if (!LLVMIsACallInst(user) && !LLVMIsAInvokeInst(user))
        return false;
    for (unsigned i = 0; i < LLVMGetNumArgOperands(user); i++)
        if (LLVMGetOperand(user, i) == function)
            return false;
    return LLVMGetCalledValue(user) == function;
}

static bool is_only_called(LLVMValueRef function)
{
    for (LLVMUseRef use = LLVMGetFirstUse(function); use; use = LLVMGetNextUse(use))
        if (!is_callee(LLVMGetUser(use), function))
            return false;
    return true;
}

/* Builds a function that only calls the other one. Returns NULL if that would not be charged. */
static LLVMValueRef build_stand_in(const struct ir *ir, LLVMBuilderRef builder,
                                   LLVMValueRef function)
{
    LLVMTypeRef type = LLVMGlobalGetValueType(function);
    unsigned count = LLVMCountParams(function);
    LLVMValueRef *arguments = pass_allocate(count, sizeof *arguments), stand_in, call;
    struct buf name = {0};
    size_t length;

    buf_printf(&name, "gasmeter_pointer.%s", LLVMGetValueName2(function, &length));
    stand_in = LLVMAddFunction(ir->module, buf_failed(&name) ? "" : name.data, type);
    buf_free(&name);
    /* One for all modules of a program, so that pointers from two modules are equal. */
    LLVMSetLinkage(stand_in, LLVMLinkOnceODRLinkage);
    LLVMSetVisibility(stand_in, LLVMHiddenVisibility);
    LLVMPositionBuilderAtEnd(builder, LLVMAppendBasicBlockInContext(ir->context, stand_in, ""));
    for (unsigned i = 0; i < count; i++)
        arguments[i] = LLVMGetParam(stand_in, i);
    call = LLVMBuildCall2(builder, type, function, arguments, count, "");
    free(arguments);
    if (LLVMGetReturnType(type) == ir->none)
        LLVMBuildRetVoid(builder);
    else
        LLVMBuildRet(builder, call);
    if (LLVMIsFunctionVarArg(type) || !ir_charged_call(ir, call)) {
        LLVMDeleteFunction(stand_in);
        return NULL;
    }
    return stand_in;
}

/* Lets all uses but calls by name use the stand-in. */
static void replace_pointers(LLVMValueRef function, LLVMValueRef stand_in)
{
    LLVMUseRef next;

    LLVMReplaceAllUsesWith(function, stand_in);
    for (LLVMUseRef use = LLVMGetFirstUse(stand_in); use; use = next) {
        LLVMValueRef user = LLVMGetUser(use);

        next = LLVMGetNextUse(use);
        if (ir_is_call(user) && LLVMGetCalledValue(user) == stand_in)
            LLVMSetOperand(user, (unsigned)LLVMGetNumOperands(user) - 1, function);
    }
}

void pointers_charge(const struct ir *ir)
{
    LLVMBuilderRef builder = LLVMCreateBuilderInContext(ir->context);
    LLVMValueRef last = LLVMGetLastFunction(ir->module), next;

    for (LLVMValueRef function = LLVMGetFirstFunction(ir->module); function; function = next) {
        const char *name = LLVMGetValueName2(function, &(size_t){0});
        const struct cost *cost = ir_has_body(function) ? NULL : cost_of_call(ir->costs, name);
        LLVMValueRef stand_in = NULL;

        next = function == last ? NULL : LLVMGetNextFunction(function);
        if (cost && cost->term_count > 0 && !is_only_called(function))
            stand_in = build_stand_in(ir, builder, function);
        if (stand_in)
            replace_pointers(function, stand_in);
    }
    LLVMDisposeBuilder(builder);
}

/* ---- what is not metered ---- */

static void add_note(struct buf *notes, char kind, const char *text)
{
    buf_append_byte(notes, kind);
    buf_append_byte(notes, ' ');
    buf_append(notes, text, strlen(text) + 1);
}

static bool is_long_double(LLVMTypeRef type)
{
    LLVMTypeKind kind = LLVMGetTypeKind(type);

    return kind == LLVMX86_FP80TypeKind || kind == LLVMFP128TypeKind ||
           kind == LLVMPPC_FP128TypeKind;
}

/* The empty string "" is a compiler barrier and runs nothing. */
static bool is_inline_assembly(LLVMValueRef instruction)
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

enum unsure {
    UNSURE_ASSEMBLY,
    UNSURE_LONG_DOUBLE,
    UNSURE_INTRINSIC,
    UNSURE_KINDS,
    UNCOUNTED = UNSURE_KINDS
};

static bool is_unbounded(const struct ir *ir, LLVMValueRef function)
{
    size_t length;
    const struct cost *cost = LLVMIsAFunction(function) && !ir_has_body(function)
                                  ? cost_of_call(ir->costs, LLVMGetValueName2(function, &length))
                                  : NULL;

    return cost && cost->uncounted;
}

/* Returns the first function that the instruction uses, and whose work nothing bounds. */
static LLVMValueRef uncounted_function(const struct ir *ir, LLVMValueRef instruction)
{
    for (unsigned i = 0; i < (unsigned)LLVMGetNumOperands(instruction); i++)
        if (is_unbounded(ir, LLVMGetOperand(instruction, i)))
            return LLVMGetOperand(instruction, i);
    return NULL;
}

static bool is_unsure(const struct ir *ir, LLVMValueRef instruction, enum unsure kind)
{
    switch (kind) {
    case UNSURE_ASSEMBLY:
        return is_inline_assembly(instruction);
    case UNSURE_LONG_DOUBLE:
        return computes_long_double(instruction);
    case UNCOUNTED:
        return uncounted_function(ir, instruction);
    default:
        return ir_is_intrinsic_call(instruction) &&
               !cost_of_intrinsic(ir->costs, ir_callee_name(instruction));
    }
}

static void put_unsure(struct buf *text, LLVMValueRef instruction, enum unsure kind,
                       LLVMValueRef function)
{
    static const char *const words[] = {
        [UNSURE_ASSEMBLY] = "inline assembly",
        [UNSURE_LONG_DOUBLE] = "long double",
        [UNSURE_INTRINSIC] = "unknown intrinsic ",
    };
    size_t length;

    buf_printf(text, "%s%s in %s", words[kind],
               kind == UNSURE_INTRINSIC ? ir_callee_name(instruction) : "",
               LLVMGetValueName2(function, &length));
}

static void put_uncounted(struct buf *text, LLVMValueRef uncounted)
{
    size_t length;

    buf_printf(
        text,
        "%s is not counted, and its arguments do not bound its work; link with --musl, which "
        "counts it, or do it in code of the program",
        LLVMGetValueName2(uncounted, &length));
    buf_append_byte(text, '\0');
}

static const char makes_unsure[] = " makes the count unsure";
static const char assembly_outside[] = "assembly outside of functions";

static bool has_assembly_outside(const struct ir *ir)
{
    size_t length;

    return *LLVMGetModuleInlineAsm(ir->module, &length) != '\0';
}

/* A function has each note once. */
static void note_instruction(const struct ir *ir, LLVMValueRef instruction, LLVMValueRef function,
                             bool noted[UNSURE_KINDS], struct buf *notes)
{
    for (enum unsure kind = 0; kind < UNSURE_KINDS; kind++) {
        if (noted[kind] || !is_unsure(ir, instruction, kind))
            continue;
        noted[kind] = true;
        buf_append(notes, "X ", 2);
        put_unsure(notes, instruction, kind, function);
        buf_append_byte(notes, '\0');
    }
}

static void note_function(const struct ir *ir, LLVMValueRef function, struct buf *notes)
{
    bool noted[UNSURE_KINDS] = {false};

    for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(function); block;
         block = LLVMGetNextBasicBlock(block))
        for (LLVMValueRef instruction = LLVMGetFirstInstruction(block); instruction;
             instruction = LLVMGetNextInstruction(instruction))
            note_instruction(ir, instruction, function, noted, notes);
}

/* "FILE:LINE: " of an instruction or function, without the line if the module has no debug
 * information. */
static void put_place(struct buf *text, const struct ir *ir, LLVMValueRef place)
{
    unsigned line = LLVMGetDebugLocLine(place), short_length;
    size_t length;

    if (line > 0)
        buf_printf(text, "%s:%u: ", LLVMGetDebugLocFilename(place, &short_length), line);
    else
        buf_printf(text, "%s: ", LLVMGetSourceFileName(ir->module, &length));
}

/* A line of the source is reported once for each kind. An instruction without a line belongs to the
 * previous line. */
static void collect_places(const struct ir *ir, LLVMValueRef function, enum unsure kind,
                           struct buf *places)
{
    LLVMValueRef place = function;
    unsigned last = UINT_MAX;

    for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(function); block;
         block = LLVMGetNextBasicBlock(block))
        for (LLVMValueRef instruction = LLVMGetFirstInstruction(block); instruction;
             instruction = LLVMGetNextInstruction(instruction)) {
            if (LLVMGetDebugLocLine(instruction) > 0)
                place = instruction;
            if (!is_unsure(ir, instruction, kind) || LLVMGetDebugLocLine(place) == last)
                continue;
            last = LLVMGetDebugLocLine(place);
            put_place(places, ir, place);
            if (kind == UNCOUNTED) {
                put_uncounted(places, uncounted_function(ir, instruction));
                continue;
            }
            put_unsure(places, instruction, kind, function);
            buf_append(places, makes_unsure, sizeof makes_unsure);
        }
}

/* Pointers in initialisers of variables have no line. */
static void collect_tables(const struct ir *ir, struct buf *places)
{
    size_t length;

    for (LLVMValueRef function = LLVMGetFirstFunction(ir->module); function;
         function = LLVMGetNextFunction(function))
        for (LLVMUseRef use = LLVMGetFirstUse(function); use && is_unbounded(ir, function);
             use = LLVMGetNextUse(use)) {
            if (LLVMIsAInstruction(LLVMGetUser(use)))
                continue;
            buf_printf(places, "%s: ", LLVMGetSourceFileName(ir->module, &length));
            put_uncounted(places, function);
            break;
        }
}

void unsure_places_collect(const struct ir *ir, struct buf *places)
{
    size_t length;

    if (has_assembly_outside(ir)) {
        buf_printf(places, "%s: %s", LLVMGetSourceFileName(ir->module, &length), assembly_outside);
        buf_append(places, makes_unsure, sizeof makes_unsure);
    }
    for (LLVMValueRef function = LLVMGetFirstFunction(ir->module); function;
         function = LLVMGetNextFunction(function))
        for (enum unsure kind = 0; kind <= UNCOUNTED; kind++)
            collect_places(ir, function, kind, places);
    collect_tables(ir, places);
}

/* Returns true if a use of the function without a body is not charged. */
static bool is_uncounted(const struct ir *ir, LLVMValueRef function)
{
    size_t length;
    const char *name = LLVMGetValueName2(function, &length);
    const struct cost *cost = cost_of_call(ir->costs, name);

    if (ir_starts_with(name, "llvm."))
        return false;
    if (cost && cost->term_count == 0 && !cost->uncounted)
        return false;
    for (LLVMUseRef use = LLVMGetFirstUse(function); use; use = LLVMGetNextUse(use))
        if (!cost || !is_callee(LLVMGetUser(use), function) ||
            !ir_charged_call(ir, LLVMGetUser(use)))
            return true;
    return false;
}

void coverage_notes_collect(const struct ir *ir, struct buf *notes)
{
    size_t length;

    buf_printf(notes, "T %u/%.16s", ir->costs->version, ir->costs->hash);
    buf_append_byte(notes, '\0');
    if (has_assembly_outside(ir))
        add_note(notes, 'X', assembly_outside);
    for (LLVMValueRef alias = LLVMGetFirstGlobalAlias(ir->module); alias;
         alias = LLVMGetNextGlobalAlias(alias))
        add_note(notes, 'D', LLVMGetValueName2(alias, &length));
    for (LLVMValueRef function = LLVMGetFirstFunction(ir->module); function;
         function = LLVMGetNextFunction(function)) {
        const char *name = LLVMGetValueName2(function, &length);

        if (ir_has_body(function)) {
            if (LLVMGetLinkage(function) != LLVMInternalLinkage)
                add_note(notes, 'D', name);
            note_function(ir, function, notes);
        } else if (is_uncounted(ir, function)) {
            add_note(notes, 'C', name);
        }
    }
}

/* llvm.used keeps the notes in the object and, if the linker supports it, in the program. */
static void keep_in_object(const struct ir *ir, LLVMValueRef global)
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

void coverage_notes_attach(const struct ir *ir, const struct buf *notes)
{
    LLVMValueRef text = LLVMConstStringInContext2(ir->context, notes->data, notes->length, true);
    LLVMValueRef global = LLVMAddGlobal(ir->module, LLVMTypeOf(text), "gasmeter.notes");

    LLVMSetInitializer(global, text);
    LLVMSetGlobalConstant(global, true);
    LLVMSetLinkage(global, LLVMPrivateLinkage);
    LLVMSetSection(global, "gasmeter_notes");
    LLVMSetAlignment(global, 1);
    keep_in_object(ir, global);
}
