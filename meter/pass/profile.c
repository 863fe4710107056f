/* SPDX-License-Identifier: Apache-2.0 */
#include "meter/pass/profile.h"

#include <stdlib.h>

#include "base/array.h"

void profile_init(struct profile *profile, const struct ir *ir, LLVMBuilderRef builder,
                  LLVMValueRef function)
{
    *profile = (struct profile){.ir = ir, .builder = builder, .function = function};
}

void profile_free(struct profile *profile)
{
    free(profile->lines);
    *profile = (struct profile){0};
}

/* ---- records, as meter/runtime/profile.h has them ------------------------------ */

static LLVMValueRef make_global(const struct ir *ir, LLVMValueRef initializer, const char *name)
{
    LLVMValueRef global = LLVMAddGlobal(ir->module, LLVMTypeOf(initializer), name);

    LLVMSetInitializer(global, initializer);
    LLVMSetLinkage(global, LLVMPrivateLinkage);
    return global;
}

/* Linkers keep equal texts once. */
static LLVMValueRef make_text(const struct ir *ir, const char *text, size_t length)
{
    LLVMValueRef global = make_global(
        ir, LLVMConstStringInContext2(ir->context, text, length, false), "gasmeter.text");

    LLVMSetGlobalConstant(global, true);
    LLVMSetUnnamedAddress(global, LLVMGlobalUnnamedAddr);
    LLVMSetAlignment(global, 1);
    return global;
}

static const char *file_of(LLVMValueRef value, size_t *length)
{
    unsigned short_length = 0;
    const char *file = LLVMGetDebugLocFilename(value, &short_length);

    *length = short_length;
    return short_length > 0 ? file : NULL;
}

static LLVMValueRef make_file(const struct ir *ir, const char *file, size_t length)
{
    return file ? make_text(ir, file, length) : LLVMConstNull(ir->pointer);
}

static LLVMValueRef make_function_record(const struct profile *profile)
{
    const struct ir *ir = profile->ir;
    size_t name_length, file_length;
    const char *name = LLVMGetValueName2(profile->function, &name_length);
    const char *file = file_of(profile->function, &file_length);
    LLVMValueRef members[] = {
        make_text(ir, name, name_length),
        make_file(ir, file, file_length),
        ir_number(ir, LLVMGetDebugLocLine(profile->function)),
        ir_number(ir, 0),
    };

    return make_global(ir, LLVMConstStructInContext(ir->context, members, 4, false),
                       "gasmeter.function");
}

static LLVMValueRef make_line_record(const struct profile *profile, LLVMValueRef place,
                                     unsigned number)
{
    const struct ir *ir = profile->ir;
    size_t length;
    const char *file = file_of(place, &length);
    LLVMValueRef members[] = {
        profile->record,  make_file(ir, file, length), ir_number(ir, number),
        ir_number(ir, 0), LLVMConstNull(ir->pointer),
    };

    return make_global(ir, LLVMConstStructInContext(ir->context, members, 5, false),
                       "gasmeter.line");
}

/* The index of the line of an instruction or function. */
static size_t find_line(struct profile *profile, LLVMValueRef place)
{
    size_t length;
    const char *file = file_of(place, &length);
    unsigned number = LLVMGetDebugLocLine(place);
    struct profile_line *lines;

    for (size_t i = profile->line_count; i-- > 0;)
        if (profile->lines[i].number == number && profile->lines[i].file == file)
            return i;
    lines = array_reserve(profile->lines, &profile->line_capacity, profile->line_count + 1,
                          sizeof *lines);
    if (!lines)
        exit(4);
    profile->lines = lines;
    lines[profile->line_count] = (struct profile_line){
        .file = file, .number = number, .record = make_line_record(profile, place, number)};
    return profile->line_count++;
}

/* What says no line belongs to the one before it. */
static void profile_take_line(struct profile *profile, LLVMValueRef instruction)
{
    if (LLVMGetDebugLocLine(instruction) > 0)
        profile->present = find_line(profile, instruction);
}

/* ---- calls of the run-time part -------------------------------------------------- */

static LLVMValueRef build_call(const struct profile *profile, const char *name, LLVMTypeRef result,
                               LLVMValueRef *arguments, unsigned count)
{
    const struct ir *ir = profile->ir;
    LLVMValueRef function = LLVMGetNamedFunction(ir->module, name);
    LLVMTypeRef parameters[3];
    LLVMTypeRef type;

    for (unsigned i = 0; i < count; i++)
        parameters[i] = LLVMTypeOf(arguments[i]);
    type = LLVMFunctionType(result, parameters, count, false);
    if (!function) {
        function = LLVMAddFunction(ir->module, name, type);
        LLVMAddAttributeAtIndex(
            function, LLVMAttributeFunctionIndex,
            LLVMCreateEnumAttribute(ir->context, ir_attribute_kind("nounwind"), 0));
    }
    return LLVMBuildCall2(profile->builder, type, function, arguments, count, "");
}

static LLVMValueRef load_node(const struct profile *profile)
{
    return LLVMBuildLoad2(profile->builder, profile->ir->pointer, profile->node, "");
}

static void build_add(const struct profile *profile, LLVMValueRef line, LLVMValueRef units)
{
    LLVMValueRef arguments[] = {load_node(profile), line, units};

    (void)build_call(profile, "gasmeter_profile_add", profile->ir->none, arguments, 3);
}

static void build_entry(struct profile *profile)
{
    LLVMValueRef node;

    profile->node = LLVMBuildAlloca(profile->builder, profile->ir->pointer, "gasmeter.node");
    node = build_call(profile, "gasmeter_profile_enter", profile->ir->pointer, &profile->record, 1);
    LLVMBuildStore(profile->builder, node, profile->node);
}

static void sum_up(struct profile *profile, const struct charge *charge, LLVMBasicBlockRef block)
{
    if (!profile->record) {
        profile->record = make_function_record(profile);
        profile->present = find_line(profile, profile->function);
    }
    for (size_t i = 0; i < profile->line_count; i++)
        profile->lines[i].units = 0;
    for (LLVMValueRef instruction = LLVMGetFirstInstruction(block); instruction;
         instruction = LLVMGetNextInstruction(instruction)) {
        profile_take_line(profile, instruction);
        profile->lines[profile->present].units += charge_fixed(charge, instruction);
    }
}

void profile_block(struct profile *profile, const struct charge *charge, LLVMBasicBlockRef block,
                   LLVMValueRef first)
{
    sum_up(profile, charge, block);
    LLVMPositionBuilderBefore(profile->builder, first);
    if (!profile->node)
        build_entry(profile);
    for (size_t i = 0; i < profile->line_count; i++)
        if (profile->lines[i].units > 0)
            build_add(profile, profile->lines[i].record,
                      ir_number(profile->ir, profile->lines[i].units));
}

void profile_units(struct profile *profile, LLVMValueRef instruction, LLVMValueRef units)
{
    profile_take_line(profile, instruction);
    build_add(profile, profile->lines[profile->present].record, units);
}

void profile_call(struct profile *profile)
{
    LLVMValueRef node = load_node(profile);

    (void)build_call(profile, "gasmeter_profile_call", profile->ir->none, &node, 1);
}

void profile_return(struct profile *profile)
{
    LLVMValueRef node = load_node(profile);

    (void)build_call(profile, "gasmeter_profile_return", profile->ir->none, &node, 1);
}
