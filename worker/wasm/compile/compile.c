/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/wasm/compile/code.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "worker/wasm/compile/compiler.h"

/* ---- variables ---- */

/* Locals, globals, constants, and instructions that only move operands. */

/* ---- locals ---- */

static bool read_local(struct wasm_compiler *compiler, uint32_t *local)
{
    *local = wasm_read_u32(&compiler->reader);
    return *local < compiler->local_count || wasm_compile_fail(compiler, "unknown local");
}

/* Pops the top operand into a local. If the last instruction made it and no operand still lies
 * in the local, that instruction writes to the local directly. */
static void set_local(struct wasm_compiler *compiler, uint32_t local)
{
    const bool is_last = wasm_top_is_last(compiler);
    const struct wasm_operand operand = wasm_pop(compiler, compiler->locals[local]);
    const uint32_t place = compiler->operand_count;

    if (!wasm_is_emitting(compiler))
        return;
    if (is_last && compiler->lazy[local] == 0) {
        compiler->cells[compiler->cell_count - 1].d = (uint16_t)local;
        return;
    }
    if (operand.place == WASM_PLACE_LOCAL && operand.local == local)
        return;
    wasm_settle_local(compiler, local);
    if (operand.place == WASM_PLACE_CONSTANT)
        wasm_emit_constant(compiler, (uint16_t)local, operand.bits);
    else
        wasm_emit_copy(compiler, (uint16_t)local, wasm_slot_of(compiler, operand, place));
}

static void compile_local(struct wasm_compiler *compiler, uint8_t opcode)
{
    uint32_t local;

    wasm_charge(compiler, 1);
    if (!read_local(compiler, &local))
        return;
    if (opcode != WASM_LOCAL_GET)
        set_local(compiler, local);
    if (opcode != WASM_LOCAL_SET)
        wasm_push_local(compiler, local);
}

/* ---- globals ---- */

static void compile_global(struct wasm_compiler *compiler, uint8_t opcode)
{
    const struct wasm_module *module = compiler->module;
    const uint32_t index = wasm_read_u32(&compiler->reader);
    const bool is_imported = index < module->imported_globals;
    struct wasm_cell *cell;

    wasm_charge(compiler, 1);
    if (index >= module->global_count) {
        wasm_compile_fail(compiler, "unknown global");
    } else if (opcode == WASM_GLOBAL_GET) {
        cell = wasm_emit(compiler, is_imported ? WASM_OP_IMPORTED_GLOBAL_GET : WASM_OP_GLOBAL_GET);
        cell->dd = wasm_own_slot(compiler, compiler->operand_count);
        cell->k = (int32_t)index;
        wasm_push(compiler, module->globals[index].type);
        wasm_emitted_top(compiler, WASM_OP_GLOBAL_GET);
    } else if (!module->globals[index].is_mutable) {
        wasm_compile_fail(compiler, "global is immutable");
    } else {
        const struct wasm_operand operand = wasm_pop(compiler, module->globals[index].type);
        const uint16_t slot = wasm_slot_of(compiler, operand, compiler->operand_count);

        cell = wasm_emit(compiler, is_imported ? WASM_OP_IMPORTED_GLOBAL_SET : WASM_OP_GLOBAL_SET);
        cell->aa = slot;
        cell->k = (int32_t)index;
    }
}

/* ---- select ---- */

static void emit_select(struct wasm_compiler *compiler, uint8_t type,
                        const struct wasm_operand *operands)
{
    const uint32_t place = compiler->operand_count;
    uint16_t slots[3];
    struct wasm_cell *cell;

    for (unsigned i = 0; i < 3; i++)
        slots[i] = wasm_slot_of(compiler, operands[i], place + i);
    cell = wasm_emit(compiler, WASM_OP_SELECT);
    cell->d = wasm_own_slot(compiler, place);
    cell->a = slots[0];
    cell->b = slots[1];
    cell->c = slots[2];
    wasm_push(compiler, type);
    wasm_emitted_top(compiler, WASM_OP_SELECT);
}

static void compile_select(struct wasm_compiler *compiler)
{
    struct wasm_operand operands[3];

    wasm_charge(compiler, 1);
    operands[2] = wasm_pop(compiler, WASM_I32);
    operands[1] = wasm_pop(compiler, WASM_UNKNOWN);
    operands[0] = wasm_pop(compiler, operands[1].type);
    if (wasm_is_reference(operands[0].type) || wasm_is_reference(operands[1].type))
        wasm_compile_fail(compiler, "type mismatch");
    emit_select(compiler, operands[0].type != WASM_UNKNOWN ? operands[0].type : operands[1].type,
                operands);
}

static void compile_select_typed(struct wasm_compiler *compiler)
{
    const struct wasm_bytes types = wasm_read_bytes(&compiler->reader);
    struct wasm_operand operands[3];

    wasm_charge(compiler, 1);
    if (types.length != 1 || !wasm_is_type(types.data[0])) {
        wasm_compile_fail(compiler, "invalid result arity");
        return;
    }
    operands[2] = wasm_pop(compiler, WASM_I32);
    operands[1] = wasm_pop(compiler, types.data[0]);
    operands[0] = wasm_pop(compiler, types.data[0]);
    emit_select(compiler, types.data[0], operands);
}

/* ---- references ---- */

static void compile_ref_null(struct wasm_compiler *compiler)
{
    const uint8_t type = wasm_read_byte(&compiler->reader);

    if (!wasm_is_reference(type))
        wasm_compile_fail(compiler, "malformed reference type");
    wasm_push_constant(compiler, type, 0);
}

static void compile_ref_is_null(struct wasm_compiler *compiler)
{
    const struct wasm_operand operand = wasm_pop(compiler, WASM_UNKNOWN);
    const uint16_t slot = wasm_slot_of(compiler, operand, compiler->operand_count);
    struct wasm_cell *cell;

    if (operand.type != WASM_UNKNOWN && !wasm_is_reference(operand.type))
        wasm_compile_fail(compiler, "type mismatch");
    cell = wasm_emit(compiler, WASM_OP_I64_EQZ);
    cell->d = wasm_own_slot(compiler, compiler->operand_count);
    cell->a = slot;
    wasm_push(compiler, WASM_I32);
    wasm_emitted_top(compiler, WASM_OP_I64_EQZ);
}

static void compile_ref_func(struct wasm_compiler *compiler)
{
    const uint32_t index = wasm_read_u32(&compiler->reader);
    struct wasm_cell *cell;

    if (index >= compiler->module->function_count)
        wasm_compile_fail(compiler, "unknown function");
    else if (!compiler->module->functions[index].is_declared)
        wasm_compile_fail(compiler, "undeclared function reference");
    cell = wasm_emit(compiler, WASM_OP_REF_FUNC);
    cell->dd = wasm_own_slot(compiler, compiler->operand_count);
    cell->k = (int32_t)index;
    wasm_push(compiler, WASM_FUNCREF);
    wasm_emitted_top(compiler, WASM_OP_REF_FUNC);
}

static bool compile_reference(struct wasm_compiler *compiler, uint8_t opcode)
{
    if (opcode < WASM_REF_NULL || opcode > WASM_REF_FUNC)
        return false;
    if (compiler->module->limits->no_bulk_or_references)
        return wasm_compile_fail(compiler, "reference types are not allowed");
    wasm_charge(compiler, 1);
    if (opcode == WASM_REF_NULL)
        compile_ref_null(compiler);
    else if (opcode == WASM_REF_IS_NULL)
        compile_ref_is_null(compiler);
    else
        compile_ref_func(compiler);
    return true;
}

/* ---- constants ---- */

static bool compile_constant(struct wasm_compiler *compiler, uint8_t opcode)
{
    struct wasm_reader *reader = &compiler->reader;

    if (opcode < WASM_I32_CONST || opcode > WASM_F64_CONST)
        return false;
    wasm_charge(compiler, 1);
    if (opcode == WASM_I32_CONST)
        wasm_push_constant(compiler, WASM_I32, (uint32_t)wasm_read_s32(reader));
    else if (opcode == WASM_I64_CONST)
        wasm_push_constant(compiler, WASM_I64, (uint64_t)wasm_read_s64(reader));
    else if (opcode == WASM_F32_CONST)
        wasm_push_constant(compiler, WASM_F32, wasm_read_fixed(reader, 4));
    else
        wasm_push_constant(compiler, WASM_F64, wasm_read_fixed(reader, 8));
    return true;
}

static bool wasm_compile_variable(struct wasm_compiler *compiler, uint8_t opcode)
{
    switch (opcode) {
    case WASM_LOCAL_GET:
    case WASM_LOCAL_SET:
    case WASM_LOCAL_TEE:
        compile_local(compiler, opcode);
        return true;
    case WASM_GLOBAL_GET:
    case WASM_GLOBAL_SET:
        compile_global(compiler, opcode);
        return true;
    case WASM_DROP:
        wasm_charge(compiler, 1);
        (void)wasm_pop(compiler, WASM_UNKNOWN);
        return true;
    case WASM_SELECT:
        compile_select(compiler);
        return true;
    case WASM_SELECT_TYPED:
        compile_select_typed(compiler);
        return true;
    default:
        return compile_constant(compiler, opcode) || compile_reference(compiler, opcode);
    }
}

/* ---- functions ---- */

/* NEAR counts a frame as return address and registers, plus the locals. */
enum { FRAME_BYTES = 64 };

/* The limit on locals that all engines have. */
enum { MOST_LOCALS = 50000 };

/* The most frequent instructions come first. */
static void compile_instruction(struct wasm_compiler *compiler)
{
    const uint8_t opcode = wasm_read_byte(&compiler->reader);

    if (wasm_compile_numeric(compiler, opcode) || wasm_compile_variable(compiler, opcode) ||
        wasm_compile_memory(compiler, opcode) || wasm_compile_control(compiler, opcode) ||
        wasm_compile_call(compiler, opcode) || wasm_compile_table(compiler, opcode) ||
        (opcode == WASM_PREFIX && wasm_compile_prefixed(compiler)))
        return;
    wasm_compile_fail(compiler, "illegal opcode");
}

static void add_locals(struct wasm_compiler *compiler, uint32_t count, uint8_t type)
{
    const uint64_t needed = (uint64_t)compiler->local_count + count;

    if (needed > MOST_LOCALS) {
        wasm_compile_stop(compiler, WASM_FAULT_MALFORMED, "too many locals");
        return;
    }
    if (count == 0)
        return;
    if (needed > compiler->local_capacity) {
        const uint32_t capacity = (uint32_t)needed * 2;
        uint8_t *locals = realloc(compiler->locals, capacity);
        uint32_t *lazy;

        if (locals != NULL)
            compiler->locals = locals;
        lazy = reallocarray(compiler->lazy, capacity, sizeof *lazy);
        if (lazy != NULL)
            compiler->lazy = lazy;
        if (locals == NULL || lazy == NULL) {
            wasm_compile_stop(compiler, WASM_FAULT_NO_MEMORY, "out of memory for a function");
            return;
        }
        compiler->local_capacity = capacity;
    }
    memset(compiler->locals + compiler->local_count, type, count);
    memset(compiler->lazy + compiler->local_count, 0, count * sizeof *compiler->lazy);
    compiler->local_count += count;
}

static void read_locals(struct wasm_compiler *compiler)
{
    const struct wasm_bytes parameters = compiler->type->parameters;
    const uint32_t groups = wasm_read_count(&compiler->reader);

    for (uint32_t i = 0; i < parameters.length; i++)
        add_locals(compiler, 1, parameters.data[i]);
    for (uint32_t i = 0; i < groups && compiler->reader.fault == NULL; i++) {
        const uint32_t count = wasm_read_u32(&compiler->reader);
        const uint8_t type = wasm_read_byte(&compiler->reader);

        if (!wasm_is_type(type))
            wasm_compile_fail(compiler, "malformed value type");
        compiler->module->local_count += count;
        if (compiler->module->local_count > compiler->module->limits->locals)
            wasm_compile_stop(compiler, WASM_FAULT_LOCALS, "more locals than are allowed");
        else if (compiler->reader.fault == NULL)
            add_locals(compiler, count, type);
    }
}

static void reset(struct wasm_compiler *compiler, uint32_t function)
{
    compiler->type = wasm_type_of_function(compiler->module, function);
    compiler->local_count = 0;
    compiler->operand_count = 0;
    compiler->operand_most = 0;
    compiler->operand_bytes = 0;
    compiler->operand_bytes_most = 0;
    compiler->control_count = 0;
    compiler->cell_count = 0;
    compiler->is_too_large = false;
    compiler->last_cell = WASM_NO_CELL;
    compiler->gas_cell = WASM_NO_CELL;
    compiler->trap_count = 0;
    compiler->block_count = 0;
}

static uint64_t frame_bytes(const struct wasm_compiler *compiler)
{
    uint64_t bytes = FRAME_BYTES;

    for (uint32_t i = 0; i < compiler->local_count; i++)
        bytes += compiler->locals[i] == WASM_I32 || compiler->locals[i] == WASM_F32 ? 4 : 8;
    return bytes;
}

/* Copies the cells or places into memory of exactly their size. */
static void *compile_keep(struct wasm_compiler *compiler, const void *items, uint32_t count,
                          size_t size)
{
    void *copy = malloc(count * size + 1);

    if (copy == NULL)
        wasm_compile_stop(compiler, WASM_FAULT_NO_MEMORY, "out of memory for a function");
    else if (count != 0)
        memcpy(copy, items, count * size);
    return copy;
}

static void compile_finish(struct wasm_compiler *compiler, struct wasm_code *code)
{
    const uint64_t bytes = frame_bytes(compiler);

    *code = (struct wasm_code){
        .parameters = compiler->type->parameters.length,
        .locals = compiler->local_count,
        .stack_bytes = bytes + compiler->operand_bytes_most,
        .frame_operations = (uint32_t)((bytes + 7) / 8),
    };
    if (compiler->is_too_large || compiler->reader.fault != NULL)
        return;
    code->cells =
        compile_keep(compiler, compiler->cells, compiler->cell_count, sizeof *code->cells);
    code->cell_count = compiler->cell_count;
    code->traps =
        compile_keep(compiler, compiler->traps, compiler->trap_count, sizeof *code->traps);
    code->trap_count = compiler->trap_count;
}

static void check_parameters(struct wasm_compiler *compiler)
{
    const struct wasm_limits *limits = compiler->module->limits;
    const uint32_t count = compiler->type->parameters.length;

    compiler->module->parameter_count += count;
    if (count > limits->function_parameters ||
        compiler->module->parameter_count > limits->module_parameters)
        wasm_compile_stop(compiler, WASM_FAULT_PARAMETERS, "more parameters than are allowed");
}

static void compile_function(struct wasm_compiler *compiler, uint32_t function,
                             struct wasm_code *code)
{
    const struct wasm_bytes body = compiler->module->functions[function].body;

    reset(compiler, function);
    compiler->reader = wasm_reader_over(compiler->module->bytes, compiler->module->length);
    compiler->reader.at = body.data;
    compiler->reader.end = body.data + body.length;
    check_parameters(compiler);
    compiler->instruction = NULL;
    read_locals(compiler);
    if (compiler->local_count > UINT16_MAX)
        compiler->is_too_large = true;
    wasm_enter_function(compiler);
    while (compiler->reader.fault == NULL && compiler->control_count != 0) {
        compiler->instruction = compiler->reader.at;
        compile_instruction(compiler);
    }
    if (compiler->reader.fault == NULL && compiler->reader.at != compiler->reader.end)
        wasm_compile_fail(compiler, "operators remaining after end of function");
    if (compiler->operand_bytes_most > compiler->module->limits->operand_bytes)
        wasm_compile_stop(compiler, WASM_FAULT_OPERANDS, "more bytes of operands than are allowed");
    compile_finish(compiler, code);
}

static void free_compiler(struct wasm_compiler *compiler)
{
    free(compiler->locals);
    free(compiler->lazy);
    free(compiler->operands);
    free(compiler->controls);
    free(compiler->cells);
    free(compiler->traps);
}

static void wasm_code_free(struct wasm_code *code)
{
    free(code->cells);
    free(code->traps);
}

void wasm_code_free_all(struct wasm_code *codes, uint32_t count)
{
    for (uint32_t i = 0; codes != NULL && i < count; i++)
        wasm_code_free(&codes[i]);
    free(codes);
}

static const char *name_of_type(uint8_t type)
{
    switch (type) {
    case WASM_I32:
        return "i32";
    case WASM_I64:
        return "i64";
    case WASM_F32:
        return "f32";
    case WASM_F64:
        return "f64";
    case WASM_FUNCREF:
        return "funcref";
    case WASM_EXTERNREF:
        return "externref";
    default:
        return NULL;
    }
}

/* Returns the name under which the function is exported; empty: none. */
static struct wasm_bytes exported_name(const struct wasm_module *module, uint32_t function)
{
    for (uint32_t i = 0; i < module->export_count; i++)
        if (module->exports[i].kind == WASM_FUNCTION && module->exports[i].index == function)
            return module->exports[i].name;
    return (struct wasm_bytes){0};
}

/* Names the function, the offset in the module and the types. */
static void describe_fault(const struct wasm_compiler *compiler, uint32_t function,
                           struct error *error)
{
    const struct wasm_bytes name = exported_name(compiler->module, function);
    const char *found = name_of_type(compiler->found_type);
    const char *expected = name_of_type(compiler->expected_type);
    char types[64] = "", quoted[80] = "";

    if (compiler->has_types)
        snprintf(types, sizeof types, ": expected %s, found %s",
                 expected != NULL ? expected : "a value", found != NULL ? found : "none");
    /* A longer name is left out: it could be cut inside a character. */
    if (name.length != 0 && name.length < 64)
        snprintf(quoted, sizeof quoted, " (%.*s)", (int)name.length, (const char *)name.data);
    error_set(error, ERROR_INPUT, "function %u%s, byte %zu: %s%s", function, quoted,
              compiler->instruction != NULL
                  ? (size_t)(compiler->instruction - compiler->reader.start)
                  : compiler->reader.fault_offset,
              compiler->reader.fault, types);
}

struct wasm_code *wasm_compile(struct wasm_module *module, const void *const *handlers,
                               enum wasm_fault *fault, struct error *error)
{
    struct wasm_compiler compiler = {.module = module, .handlers = handlers};
    uint32_t function;
    struct wasm_code *codes = calloc((size_t)module->function_count + 1, sizeof *codes);

    *fault = WASM_FAULT_NONE;
    if (codes == NULL) {
        *fault = WASM_FAULT_NO_MEMORY;
        error_memory(error, "a WebAssembly module");
        return NULL;
    }
    function = module->imported_functions;
    while (function < module->function_count && compiler.reader.fault == NULL) {
        compile_function(&compiler, function, &codes[function]);
        function++;
    }
    free_compiler(&compiler);
    if (compiler.reader.fault == NULL)
        return codes;
    *fault = compiler.fault != WASM_FAULT_NONE ? compiler.fault : WASM_FAULT_MALFORMED;
    if (*fault == WASM_FAULT_NO_MEMORY)
        error_memory(error, "a function");
    else
        describe_fault(&compiler, function - 1, error);
    wasm_code_free_all(codes, module->function_count);
    return NULL;
}
