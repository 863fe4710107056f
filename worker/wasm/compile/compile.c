/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/wasm/compile/compile.h"

#include <stdlib.h>
#include <string.h>

#include "worker/wasm/compile/compiler.h"
#include "worker/wasm/compile/opcodes.h"

/* As NEAR counts a frame: return address, registers; and the locals. */
enum { FRAME_BYTES = 64 };

/* A function has no more locals than these, as all engines have it. */
enum { MOST_LOCALS = 50000 };

/* Looked at first for each instruction: what there is most of. */
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

/* A copy of the cells or places, of their size exactly. */
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

static void compile_function(struct wasm_compiler *compiler, uint32_t function,
                             struct wasm_code *code)
{
    const struct wasm_bytes body = compiler->module->functions[function].body;

    reset(compiler, function);
    compiler->reader = wasm_reader_over(compiler->module->bytes, compiler->module->length);
    compiler->reader.at = body.data;
    compiler->reader.end = body.data + body.length;
    read_locals(compiler);
    if (compiler->local_count > UINT16_MAX)
        compiler->is_too_large = true;
    wasm_enter_function(compiler);
    while (compiler->reader.fault == NULL && compiler->control_count != 0)
        compile_instruction(compiler);
    if (compiler->reader.fault == NULL && compiler->reader.at != compiler->reader.end)
        wasm_compile_fail(compiler, "operators remaining after end of function");
    compile_finish(compiler, code);
}

static void release(struct wasm_compiler *compiler)
{
    free(compiler->locals);
    free(compiler->lazy);
    free(compiler->operands);
    free(compiler->controls);
    free(compiler->cells);
    free(compiler->traps);
}

void wasm_code_free(struct wasm_code *code)
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

struct wasm_code *wasm_compile(struct wasm_module *module, const void *const *handlers,
                               enum wasm_fault *fault, struct error *error)
{
    struct wasm_compiler compiler = {.module = module, .handlers = handlers};
    struct wasm_code *codes = calloc((size_t)module->function_count + 1, sizeof *codes);

    *fault = WASM_FAULT_NONE;
    if (codes == NULL) {
        *fault = WASM_FAULT_NO_MEMORY;
        error_memory(error, "a WebAssembly module");
        return NULL;
    }
    for (uint32_t i = module->imported_functions;
         i < module->function_count && compiler.reader.fault == NULL; i++)
        compile_function(&compiler, i, &codes[i]);
    release(&compiler);
    if (compiler.reader.fault == NULL)
        return codes;
    *fault = compiler.fault != WASM_FAULT_NONE ? compiler.fault : WASM_FAULT_MALFORMED;
    error_set(error, *fault == WASM_FAULT_NO_MEMORY ? ERROR_SYSTEM : ERROR_INPUT, "byte %zu: %s",
              compiler.reader.fault_offset, compiler.reader.fault);
    wasm_code_free_all(codes, module->function_count);
    return NULL;
}
