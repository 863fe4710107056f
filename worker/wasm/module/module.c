/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/wasm/module/module.h"

#include <stdlib.h>
#include <string.h>

#include "worker/wasm/module/decoder.h"

const struct wasm_limits wasm_no_limits = {
    .functions = UINT32_MAX,
    .locals = UINT32_MAX,
    .tables = UINT32_MAX,
    .table_elements = UINT32_MAX,
    .types = UINT32_MAX,
    .globals = UINT32_MAX,
    .function_parameters = UINT32_MAX,
    .module_parameters = UINT32_MAX,
    .operand_bytes = UINT32_MAX,
    .function_body_bytes = UINT32_MAX,
    .function_blocks = UINT32_MAX,
    .module_blocks = UINT32_MAX,
    .linear_base = 1,
};

/* The sections by number; their required order differs slightly. */
static const struct {
    void (*decode)(struct wasm_decoder *);
    unsigned place;
} sections[] = {
    [1] = {wasm_decode_types, 1},     [2] = {wasm_decode_imports, 2},
    [3] = {wasm_decode_functions, 3}, [4] = {wasm_decode_tables, 4},
    [5] = {wasm_decode_memories, 5},  [6] = {wasm_decode_globals, 6},
    [7] = {wasm_decode_exports, 7},   [8] = {wasm_decode_start, 8},
    [9] = {wasm_decode_elements, 9},  [10] = {wasm_decode_code, 11},
    [11] = {wasm_decode_data, 12},    [12] = {wasm_decode_data_count, 10},
};

enum { SECTION_CUSTOM = 0, SECTION_COUNT = sizeof sections / sizeof *sections };

/* Decodes one section; `last` is the previous one's place. */
static void decode_section(struct wasm_decoder *decoder, struct wasm_reader *all, unsigned *last)
{
    const uint8_t id = wasm_read_byte(all);
    const struct wasm_bytes content = wasm_read_bytes(all);

    if (all->fault != NULL)
        return;
    decoder->reader = *all;
    decoder->reader.at = content.data;
    decoder->reader.end = content.data + content.length;
    if (id == SECTION_CUSTOM) {
        (void)wasm_read_name(&decoder->reader);
    } else if (id >= SECTION_COUNT) {
        wasm_reader_fail(&decoder->reader, "malformed section id");
    } else if (sections[id].place <= *last) {
        wasm_reader_fail(&decoder->reader, "unexpected content after last section");
    } else {
        *last = sections[id].place;
        sections[id].decode(decoder);
        if (decoder->reader.fault == NULL && decoder->reader.at != decoder->reader.end)
            wasm_reader_fail(&decoder->reader, "section size mismatch");
    }
    if (decoder->reader.fault != NULL) {
        all->fault = decoder->reader.fault;
        all->fault_offset = decoder->reader.fault_offset;
    }
}

/* Checks that need all sections. */
static void check_whole(const struct wasm_module *module, struct wasm_reader *all)
{
    if (all->fault != NULL)
        return;
    for (uint32_t i = module->imported_functions; i < module->function_count; i++) {
        if (module->functions[i].body.data == NULL) {
            wasm_reader_fail(all, "function and code section have inconsistent lengths");
            return;
        }
    }
    if (module->has_data_count && module->data == NULL && module->data_count != 0)
        wasm_reader_fail(all, "data count and data section have inconsistent lengths");
}

static void decode_all(struct wasm_decoder *decoder, struct wasm_reader *all)
{
    static const uint8_t head[] = {0, 'a', 's', 'm', 1, 0, 0, 0};
    unsigned last = 0;

    if (wasm_reader_left(all) < sizeof head || memcmp(all->at, head, 4) != 0) {
        wasm_reader_fail(all, "magic header not detected");
        return;
    }
    if (memcmp(all->at, head, sizeof head) != 0) {
        wasm_reader_fail(all, "unknown binary version");
        return;
    }
    all->at += sizeof head;
    while (all->fault == NULL && all->at != all->end)
        decode_section(decoder, all, &last);
    check_whole(decoder->module, all);
}

static struct wasm_module *module_over(const uint8_t *bytes, size_t length,
                                       const struct wasm_limits *limits)
{
    struct wasm_module *module = calloc(1, sizeof *module);

    if (module == NULL)
        return NULL;
    module->limits = limits;
    module->length = length;
    module->bytes = malloc(length != 0 ? length : 1);
    if (module->bytes == NULL) {
        free(module);
        return NULL;
    }
    memcpy(module->bytes, bytes, length);
    return module;
}

struct wasm_module *wasm_module_decode(const uint8_t *bytes, size_t length,
                                       const struct wasm_limits *limits, enum wasm_fault *fault,
                                       struct error *error)
{
    struct wasm_decoder decoder = {.module = module_over(bytes, length, limits)};
    struct wasm_reader all;

    *fault = WASM_FAULT_NO_MEMORY;
    if (decoder.module == NULL) {
        error_memory(error, "a WebAssembly module");
        return NULL;
    }
    all = wasm_reader_over(decoder.module->bytes, length);
    decode_all(&decoder, &all);
    *fault = WASM_FAULT_NONE;
    if (all.fault == NULL)
        return decoder.module;
    *fault = decoder.fault != WASM_FAULT_NONE ? decoder.fault : WASM_FAULT_MALFORMED;
    error_set(error, *fault == WASM_FAULT_NO_MEMORY ? ERROR_SYSTEM : ERROR_INPUT, "byte %zu: %s",
              all.fault_offset, all.fault);
    wasm_module_free(decoder.module);
    return NULL;
}

void wasm_module_free(struct wasm_module *module)
{
    if (module == NULL)
        return;
    for (uint32_t i = 0; i < module->element_count; i++)
        free(module->elements[i].items);
    free(module->types);
    free(module->imports);
    free(module->functions);
    free(module->tables);
    free(module->memories);
    free(module->globals);
    free(module->exports);
    free(module->elements);
    free(module->data);
    free(module->bytes);
    free(module);
}
