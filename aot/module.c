/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aot/emitter.h"
#include "worker/wasm/compiled/layout.h"

const char *aot_refusal(const struct wasm_module *module)
{
    if (module->imported_memories + module->imported_tables + module->imported_globals > 0)
        return "the module imports a memory, a table or a global";
    if (module->global_count > COMPILED_GLOBALS_MAX)
        return "the module has too many globals";
    for (uint32_t i = 0; i < module->imported_functions; i++) {
        const struct wasm_function_type *type = wasm_type_of_function(module, i);

        if (type->parameters.length > COMPILED_VALUES_MAX || type->results.length > 1)
            return "the module imports a function with too many parameters or results";
    }
    return NULL;
}

/* ---- what says how memory is accessed, and what functions do ---- */

static LLVMValueRef new_tag(const struct aot_emitter *emitter, const char *name)
{
    LLVMMetadataRef root = LLVMMDStringInContext2(emitter->context, "wasm", 4), items[3];

    root = LLVMMDNodeInContext2(emitter->context, &root, 1);
    items[0] = LLVMMDStringInContext2(emitter->context, name, strlen(name));
    items[1] = root;
    items[2] = LLVMValueAsMetadata(aot_i64(emitter, 0));
    items[0] = LLVMMDNodeInContext2(emitter->context, items, 3);
    items[1] = items[0];
    return LLVMMetadataAsValue(emitter->context, LLVMMDNodeInContext2(emitter->context, items, 3));
}

static void make_tags(struct aot_emitter *emitter)
{
    char name[32];
    LLVMMetadataRef weights[] = {
        LLVMMDStringInContext2(emitter->context, "branch_weights", strlen("branch_weights")),
        LLVMValueAsMetadata(aot_i32(emitter, 1)),
        LLVMValueAsMetadata(aot_i32(emitter, 1000000)),
    };

    emitter->tbaa_kind = LLVMGetMDKindIDInContext(emitter->context, "tbaa", strlen("tbaa"));
    emitter->weight_kind = LLVMGetMDKindIDInContext(emitter->context, "prof", strlen("prof"));
    emitter->unlikely =
        LLVMMetadataAsValue(emitter->context, LLVMMDNodeInContext2(emitter->context, weights, 3));
    emitter->memory_tag = new_tag(emitter, "memory");
    emitter->table_tag = new_tag(emitter, "table");
    emitter->context_tag = new_tag(emitter, "context");
    emitter->global_tags = aot_take(emitter->module->global_count, sizeof(LLVMValueRef));
    for (uint32_t i = 0; i < emitter->module->global_count; i++) {
        snprintf(name, sizeof name, "global %u", i);
        emitter->global_tags[i] = new_tag(emitter, name);
    }
}

static unsigned attribute_kind(const char *name)
{
    return LLVMGetEnumAttributeKindForName(name, strlen(name));
}

static void find_attributes(struct aot_emitter *emitter)
{
    emitter->nounwind = attribute_kind("nounwind");
    emitter->base_register = attribute_kind("swiftself");
    emitter->memory_effects = attribute_kind("memory");
    emitter->will_return = attribute_kind("willreturn");
    emitter->not_optimized = attribute_kind("optnone");
    emitter->not_inlined = attribute_kind("noinline");
}

static void make_types(struct aot_emitter *emitter)
{
    LLVMContextRef context = emitter->context;

    emitter->i1 = LLVMInt1TypeInContext(context);
    emitter->i8 = LLVMInt8TypeInContext(context);
    emitter->i16 = LLVMInt16TypeInContext(context);
    emitter->i32 = LLVMInt32TypeInContext(context);
    emitter->i64 = LLVMInt64TypeInContext(context);
    emitter->f32 = LLVMFloatTypeInContext(context);
    emitter->f64 = LLVMDoubleTypeInContext(context);
    emitter->pointer = LLVMPointerTypeInContext(context, 0);
    emitter->nothing = LLVMVoidTypeInContext(context);
    emitter->types = aot_take(emitter->module->type_count, sizeof(LLVMTypeRef));
    for (uint32_t i = 0; i < emitter->module->type_count; i++)
        emitter->types[i] = aot_function_type(emitter, &emitter->module->types[i]);
}

/* A frame of more than a page touches each page, so that the end of the stack is noticed. */
static void set_attributes(const struct aot_emitter *emitter, LLVMValueRef function)
{
    LLVMAddAttributeAtIndex(function, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                            LLVMCreateEnumAttribute(emitter->context, emitter->nounwind, 0));
    LLVMAddAttributeAtIndex(function, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                            LLVMCreateStringAttribute(emitter->context, "probe-stack",
                                                      strlen("probe-stack"), "inline-asm",
                                                      strlen("inline-asm")));
}

static void declare_functions(struct aot_emitter *emitter)
{
    const struct wasm_module *module = emitter->module;
    uint32_t most = 0;
    char name[32];

    emitter->functions = aot_take(module->function_count, sizeof(LLVMValueRef));
    for (uint32_t i = 0; i < module->function_count; i++) {
        snprintf(name, sizeof name, "f%u", i);
        emitter->functions[i] =
            LLVMAddFunction(emitter->llvm, name, emitter->types[module->functions[i].type]);
        LLVMSetLinkage(emitter->functions[i], LLVMInternalLinkage);
        LLVMSetFunctionCallConv(emitter->functions[i], LLVMFastCallConv);
        set_attributes(emitter, emitter->functions[i]);
        LLVMAddAttributeAtIndex(
            emitter->functions[i], 1,
            LLVMCreateEnumAttribute(emitter->context, emitter->base_register, 0));
    }
    for (uint32_t i = 0; i < module->type_count; i++) {
        const struct wasm_function_type *type = &module->types[i];

        most = type->parameters.length > most ? type->parameters.length : most;
        most = type->results.length > most ? type->results.length : most;
    }
    emitter->values = aot_take(most + AOT_HIDDEN_PARAMETERS, sizeof(LLVMValueRef));
}

/* ---- imported functions ---- */

static void call_host(struct aot_emitter *emitter, uint32_t index)
{
    LLVMTypeRef types[] = {emitter->pointer, emitter->i32};
    LLVMValueRef arguments[] = {emitter->base, aot_i32(emitter, index)};
    LLVMValueRef host = aot_load_field(
        emitter, emitter->pointer, offsetof(struct compiled_context, host), emitter->context_tag);

    LLVMBuildCall2(emitter->builder, LLVMFunctionType(emitter->nothing, types, 2, false), host,
                   arguments, 2, "");
}

/* A function that passes its arguments to the host by the context, and charges through it. */
static void emit_imported(struct aot_emitter *emitter, uint32_t index)
{
    const size_t left = offsetof(struct compiled_context, left);
    const size_t values = offsetof(struct compiled_context, values);

    aot_begin_function(emitter, index);
    LLVMPositionBuilderAtEnd(emitter->builder, aot_new_block(emitter));
    for (uint32_t i = 0; i < emitter->type->parameters.length; i++) {
        LLVMValueRef value = LLVMGetParam(emitter->function, AOT_HIDDEN_PARAMETERS + i);

        if (emitter->type->parameters.data[i] == WASM_I32)
            value = LLVMBuildZExt(emitter->builder, value, emitter->i64, "");
        aot_store_field(emitter, value, values + sizeof(uint64_t) * i, emitter->context_tag);
    }
    aot_store_field(emitter, LLVMGetParam(emitter->function, 2), left, emitter->context_tag);
    call_host(emitter, index);
    emitter->values[0] = aot_load_field(emitter, emitter->i64, left, emitter->context_tag);
    if (emitter->type->results.length == 0) {
        LLVMBuildRet(emitter->builder, emitter->values[0]);
        return;
    }
    emitter->values[1] = aot_load_field(emitter, aot_type(emitter, emitter->type->results.data[0]),
                                        values, emitter->context_tag);
    LLVMBuildAggregateRet(emitter->builder, emitter->values, 2);
}

/* ---- what the worker calls ---- */

static void store_result(struct aot_emitter *emitter, LLVMValueRef value, LLVMValueRef place)
{
    if (LLVMTypeOf(value) == emitter->f32)
        value = LLVMBuildBitCast(emitter->builder, value, emitter->i32, "");
    if (LLVMTypeOf(value) == emitter->i32)
        value = LLVMBuildZExt(emitter->builder, value, emitter->i64, "");
    LLVMBuildStore(emitter->builder, value, place);
}

static void fill_entry(struct aot_emitter *emitter, LLVMValueRef values)
{
    const struct wasm_function_type *type = emitter->type;
    const uint32_t results = type->results.length;
    LLVMValueRef call;

    emitter->values[0] = emitter->base;
    emitter->values[1] = aot_load_field(
        emitter, emitter->i64, offsetof(struct compiled_context, stack_left), emitter->context_tag);
    emitter->values[2] = aot_load_field(
        emitter, emitter->i64, offsetof(struct compiled_context, left), emitter->context_tag);
    for (uint32_t i = 0; i < type->parameters.length; i++)
        emitter->values[AOT_HIDDEN_PARAMETERS + i] =
            LLVMBuildLoad2(emitter->builder, aot_type(emitter, type->parameters.data[i]),
                           aot_at(emitter, values, (int64_t)(sizeof(uint64_t) * i)), "");
    call = LLVMBuildCall2(emitter->builder, aot_function_type(emitter, type),
                          emitter->functions[emitter->index], emitter->values,
                          AOT_HIDDEN_PARAMETERS + type->parameters.length, "");
    aot_mark_call(emitter, call);
    aot_store_field(emitter, aot_result(emitter, call, results, 0),
                    offsetof(struct compiled_context, left), emitter->context_tag);
    for (uint32_t i = 0; i < results; i++)
        store_result(emitter, aot_result(emitter, call, results, AOT_HIDDEN_RESULTS + i),
                     aot_at(emitter, values, (int64_t)(sizeof(uint64_t) * i)));
    LLVMBuildRetVoid(emitter->builder);
}

/* A compiled_entry for a function. */
static LLVMValueRef emit_entry(struct aot_emitter *emitter, uint32_t index)
{
    LLVMTypeRef types[] = {emitter->pointer, emitter->pointer};
    LLVMValueRef entry;
    char name[32];

    snprintf(name, sizeof name, "entry%u", index);
    entry =
        LLVMAddFunction(emitter->llvm, name, LLVMFunctionType(emitter->nothing, types, 2, false));
    LLVMSetLinkage(entry, LLVMInternalLinkage);
    set_attributes(emitter, entry);
    aot_begin_function(emitter, index);
    emitter->function = entry;
    emitter->base = LLVMGetParam(entry, 0);
    LLVMPositionBuilderAtEnd(emitter->builder, aot_new_block(emitter));
    fill_entry(emitter, LLVMGetParam(entry, 1));
    return entry;
}

/* ---- the arrays ---- */

static LLVMValueRef new_array(struct aot_emitter *emitter, const char *name, LLVMTypeRef type,
                              uint32_t count)
{
    LLVMValueRef array = LLVMAddGlobal(emitter->llvm, LLVMArrayType2(type, count), name);

    LLVMSetGlobalConstant(array, true);
    LLVMSetVisibility(array, LLVMHiddenVisibility);
    LLVMSetAlignment(array, 8);
    return array;
}

/* The distance of a function from an array, which does not depend on the place in memory. */
static LLVMValueRef distance(const struct aot_emitter *emitter, LLVMValueRef function,
                             LLVMValueRef array)
{
    LLVMValueRef difference = LLVMConstSub(LLVMConstPtrToInt(function, emitter->i64),
                                           LLVMConstPtrToInt(array, emitter->i64));

    return LLVMConstTrunc(difference, emitter->i32);
}

/* For indirect calls: of each function its code's distance and its type. */
static void declare_function_array(struct aot_emitter *emitter, LLVMTypeRef type)
{
    (void)new_array(emitter, "functions", type, emitter->module->function_count);
}

static void fill_function_array(struct aot_emitter *emitter, LLVMTypeRef type)
{
    const struct wasm_module *module = emitter->module;
    LLVMValueRef array = LLVMGetNamedGlobal(emitter->llvm, "functions"), pair[2];
    LLVMValueRef *items = aot_take(module->function_count, sizeof(LLVMValueRef));

    for (uint32_t i = 0; i < module->function_count; i++) {
        pair[0] = distance(emitter, emitter->functions[i], array);
        pair[1] = aot_i32(emitter, module->types[module->functions[i].type].same_as);
        items[i] = LLVMConstStructInContext(emitter->context, pair, 2, false);
    }
    LLVMSetInitializer(array, LLVMConstArray2(type, items, module->function_count));
    free(items);
}

/* Lists the distance of the entry of each exported function, and of the start function. */
static void fill_entry_array(struct aot_emitter *emitter)
{
    const struct wasm_module *module = emitter->module;
    LLVMValueRef array = new_array(emitter, "entries", emitter->i32, module->function_count);
    LLVMValueRef *items = aot_take(module->function_count, sizeof(LLVMValueRef));

    for (uint32_t i = 0; i < module->export_count; i++)
        if (module->exports[i].kind == WASM_FUNCTION && items[module->exports[i].index] == NULL)
            items[module->exports[i].index] =
                distance(emitter, emit_entry(emitter, module->exports[i].index), array);
    if (module->has_start && items[module->start] == NULL)
        items[module->start] = distance(emitter, emit_entry(emitter, module->start), array);
    for (uint32_t i = 0; i < module->function_count; i++)
        if (items[i] == NULL)
            items[i] = aot_i32(emitter, 0);
    LLVMSetInitializer(array, LLVMConstArray2(emitter->i32, items, module->function_count));
    free(items);
}

/* ---- the module ---- */

void aot_emit_module(struct aot_emitter *emitter, const struct wasm_module *module,
                     const struct wasm_code *codes)
{
    LLVMTypeRef pair[2], type;

    *emitter = (struct aot_emitter){.module = module, .codes = codes};
    emitter->context = LLVMContextCreate();
    emitter->llvm = LLVMModuleCreateWithNameInContext("wasm", emitter->context);
    emitter->builder = LLVMCreateBuilderInContext(emitter->context);
    emitter->entry_builder = LLVMCreateBuilderInContext(emitter->context);
    make_types(emitter);
    find_attributes(emitter);
    make_tags(emitter);
    declare_functions(emitter);
    pair[0] = pair[1] = emitter->i32;
    type = LLVMStructTypeInContext(emitter->context, pair, 2, false);
    declare_function_array(emitter, type);
    for (uint32_t i = 0; i < module->imported_functions; i++)
        emit_imported(emitter, i);
    for (uint32_t i = module->imported_functions; i < module->function_count; i++)
        aot_emit_function(emitter, i);
    fill_entry_array(emitter);
    fill_function_array(emitter, type);
}

void aot_free_emitter(struct aot_emitter *emitter)
{
    LLVMDisposeBuilder(emitter->builder);
    LLVMDisposeBuilder(emitter->entry_builder);
    free(emitter->types);
    free(emitter->functions);
    free(emitter->values);
    free(emitter->global_tags);
    free(emitter->operands);
    free(emitter->controls);
    free(emitter->locals);
    free(emitter->local_types);
    free(emitter->depths);
}
