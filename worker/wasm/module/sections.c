/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/sort/sort.h"
#include "worker/wasm/module/decoder.h"
#include "worker/wasm/module/module.h"

/* Stops reading, for a limit or lack of memory. */
static void wasm_decoder_stop(struct wasm_decoder *decoder, enum wasm_fault fault,
                              const char *words)
{
    if (decoder->fault == WASM_FAULT_NONE && decoder->reader.fault == NULL)
        decoder->fault = fault;
    wasm_reader_fail(&decoder->reader, words);
}

/* Allocates `count` zeroed items of `size` bytes, after the `before` items in *items. False if
 * out of memory. */
static bool wasm_decoder_grow(struct wasm_decoder *decoder, void *items, uint32_t before,
                              uint32_t count, size_t size)
{
    void **place = items;
    char *grown = reallocarray(*place, (size_t)before + count + 1, size);

    if (grown == NULL) {
        wasm_decoder_stop(decoder, WASM_FAULT_NO_MEMORY, "out of memory for a module");
        return false;
    }
    memset(grown + before * size, 0, (count + 1) * size);
    *place = grown;
    return true;
}

/* ---- types ---- */

/* Checks of a module's types. */

bool wasm_is_reference(uint8_t type)
{
    return type == WASM_FUNCREF || type == WASM_EXTERNREF;
}

bool wasm_is_type(uint8_t byte)
{
    return (byte >= WASM_F64 && byte <= WASM_I32) || wasm_is_reference(byte);
}

bool wasm_bytes_are(struct wasm_bytes bytes, const char *text)
{
    return bytes.length == strlen(text) && memcmp(bytes.data, text, bytes.length) == 0;
}

const struct wasm_function_type *wasm_type_of_function(const struct wasm_module *module,
                                                       uint32_t function)
{
    return &module->types[module->functions[function].type];
}

static bool wasm_bytes_equal(struct wasm_bytes left, struct wasm_bytes right)
{
    return left.length == right.length && memcmp(left.data, right.data, left.length) == 0;
}

bool wasm_same_type(const struct wasm_function_type *left, const struct wasm_function_type *right)
{
    return wasm_bytes_equal(left->parameters, right->parameters) &&
           wasm_bytes_equal(left->results, right->results);
}

const struct wasm_export *wasm_module_export(const struct wasm_module *module, const char *name,
                                             size_t length)
{
    for (uint32_t i = 0; i < module->export_count; i++) {
        const struct wasm_bytes *has = &module->exports[i].name;

        if (has->length == length && memcmp(has->data, name, length) == 0)
            return &module->exports[i];
    }
    return NULL;
}

/* ---- segments ---- */

/* Constant expressions, and the element and data segments that begin with one. */

/* The instructions of constant expressions. */
enum {
    I32_CONST = 0x41,
    I64_CONST = 0x42,
    F32_CONST = 0x43,
    F64_CONST = 0x44,
    GLOBAL_GET = 0x23,
    REF_NULL = 0xd0,
    REF_FUNC = 0xd2,
    END = 0x0b,
};

static struct wasm_constant value(uint64_t bits)
{
    return (struct wasm_constant){.kind = WASM_CONSTANT_VALUE, .value = bits};
}

static struct wasm_constant read_global(struct wasm_decoder *decoder, uint8_t *type)
{
    const struct wasm_module *module = decoder->module;
    const uint32_t index = wasm_read_u32(&decoder->reader);

    if (index >= module->imported_globals) {
        wasm_reader_fail(&decoder->reader, "unknown global");
        return value(0);
    }
    if (module->globals[index].is_mutable)
        wasm_reader_fail(&decoder->reader, "constant expression required");
    *type = module->globals[index].type;
    return (struct wasm_constant){.kind = WASM_CONSTANT_GLOBAL, .value = index};
}

static struct wasm_constant read_function(struct wasm_decoder *decoder)
{
    struct wasm_module *module = decoder->module;
    const uint32_t index = wasm_read_u32(&decoder->reader);

    if (index >= module->function_count) {
        wasm_reader_fail(&decoder->reader, "unknown function");
        return value(0);
    }
    module->functions[index].is_declared = true;
    return (struct wasm_constant){.kind = WASM_CONSTANT_FUNCTION, .value = index};
}

static struct wasm_constant read_null(struct wasm_decoder *decoder, uint8_t *type)
{
    *type = wasm_read_byte(&decoder->reader);
    if (!wasm_is_reference(*type))
        wasm_reader_fail(&decoder->reader, "malformed reference type");
    return value(0);
}

/* Reads one instruction, and its type. */
static struct wasm_constant read_instruction(struct wasm_decoder *decoder, uint8_t *type)
{
    struct wasm_reader *reader = &decoder->reader;

    switch (wasm_read_byte(reader)) {
    case I32_CONST:
        *type = WASM_I32;
        return value((uint32_t)wasm_read_s32(reader));
    case I64_CONST:
        *type = WASM_I64;
        return value((uint64_t)wasm_read_s64(reader));
    case F32_CONST:
        *type = WASM_F32;
        return value(wasm_read_fixed(reader, 4));
    case F64_CONST:
        *type = WASM_F64;
        return value(wasm_read_fixed(reader, 8));
    case GLOBAL_GET:
        return read_global(decoder, type);
    case REF_NULL:
        return read_null(decoder, type);
    case REF_FUNC:
        *type = WASM_FUNCREF;
        return read_function(decoder);
    default:
        wasm_reader_fail(reader, "constant expression required");
        return value(0);
    }
}

/* A constant expression of that type, with its end. */
static struct wasm_constant wasm_decode_constant(struct wasm_decoder *decoder, uint8_t type)
{
    uint8_t is = WASM_UNKNOWN;
    struct wasm_constant constant = read_instruction(decoder, &is);

    if (wasm_read_byte(&decoder->reader) != END)
        wasm_reader_fail(&decoder->reader, "constant expression required");
    if (is != type)
        wasm_reader_fail(&decoder->reader, "type mismatch");
    return constant;
}

/* ---- elements ---- */

/* The bits of an element segment's first number. */
enum { NOT_ACTIVE = 1, WITH_TABLE = 2, DECLARATIVE = 2, WITH_EXPRESSIONS = 4, HIGHEST_FLAGS = 7 };

static void check_element_table(struct wasm_decoder *decoder,
                                const struct wasm_element_segment *segment)
{
    if (segment->table >= decoder->module->table_count)
        wasm_reader_fail(&decoder->reader, "unknown table");
    else if (decoder->module->tables[segment->table].type != segment->type)
        wasm_reader_fail(&decoder->reader, "type mismatch");
}

/* Reads the items' kind (a byte 0: functions) or type, if the segment has it. */
static uint8_t read_element_type(struct wasm_reader *reader, uint32_t flags)
{
    uint8_t byte;

    if ((flags & (NOT_ACTIVE | WITH_TABLE)) == 0)
        return WASM_FUNCREF;
    byte = wasm_read_byte(reader);
    if ((flags & WITH_EXPRESSIONS) != 0) {
        if (!wasm_is_reference(byte))
            wasm_reader_fail(reader, "malformed reference type");
        return byte;
    }
    if (byte != 0)
        wasm_reader_fail(reader, "malformed element kind");
    return WASM_FUNCREF;
}

static void read_items(struct wasm_decoder *decoder, struct wasm_element_segment *segment,
                       uint32_t flags)
{
    struct wasm_reader *reader = &decoder->reader;
    const uint32_t count = wasm_read_count(reader);

    if (reader->fault != NULL ||
        !wasm_decoder_grow(decoder, &segment->items, 0, count, sizeof *segment->items))
        return;
    for (uint32_t i = 0; i < count && reader->fault == NULL; i++)
        segment->items[segment->count++] = (flags & WITH_EXPRESSIONS) != 0
                                               ? wasm_decode_constant(decoder, segment->type)
                                               : read_function(decoder);
}

static void read_element_segment(struct wasm_decoder *decoder, struct wasm_element_segment *segment)
{
    struct wasm_reader *reader = &decoder->reader;
    const uint32_t flags = wasm_read_u32(reader);

    if (flags > HIGHEST_FLAGS || (flags != 0 && decoder->module->limits->no_bulk_or_references)) {
        wasm_reader_fail(reader, "malformed elements segment kind");
        return;
    }
    if ((flags & NOT_ACTIVE) != 0) {
        segment->mode =
            (flags & DECLARATIVE) != 0 ? WASM_SEGMENT_DECLARATIVE : WASM_SEGMENT_PASSIVE;
    } else {
        if ((flags & WITH_TABLE) != 0)
            segment->table = wasm_read_u32(reader);
        segment->offset = wasm_decode_constant(decoder, WASM_I32);
    }
    segment->type = read_element_type(reader, flags);
    read_items(decoder, segment, flags);
    if (segment->mode == WASM_SEGMENT_ACTIVE)
        check_element_table(decoder, segment);
}

void wasm_decode_elements(struct wasm_decoder *decoder)
{
    struct wasm_module *module = decoder->module;
    const uint32_t count = wasm_read_count(&decoder->reader);

    if (decoder->reader.fault != NULL ||
        !wasm_decoder_grow(decoder, &module->elements, 0, count, sizeof *module->elements))
        return;
    for (uint32_t i = 0; i < count && decoder->reader.fault == NULL; i++)
        read_element_segment(decoder, &module->elements[module->element_count++]);
}

/* ---- data ---- */

void wasm_decode_data_count(struct wasm_decoder *decoder)
{
    decoder->module->data_count = wasm_read_u32(&decoder->reader);
    decoder->module->has_data_count = true;
    if (decoder->module->limits->no_bulk_or_references)
        wasm_reader_fail(&decoder->reader, "bulk memory is not allowed");
}

static void read_data_segment(struct wasm_decoder *decoder, struct wasm_data_segment *segment)
{
    struct wasm_reader *reader = &decoder->reader;
    const uint32_t flags = wasm_read_u32(reader);

    if (flags > 2 || (flags == 1 && decoder->module->limits->no_bulk_or_references)) {
        wasm_reader_fail(reader, "malformed data segment kind");
        return;
    }
    segment->mode = flags == 1 ? WASM_SEGMENT_PASSIVE : WASM_SEGMENT_ACTIVE;
    if (flags != 1) {
        if ((flags == 2 ? wasm_read_u32(reader) : 0) >= decoder->module->memory_count)
            wasm_reader_fail(reader, "unknown memory");
        segment->offset = wasm_decode_constant(decoder, WASM_I32);
    }
    segment->bytes = wasm_read_bytes(reader);
}

void wasm_decode_data(struct wasm_decoder *decoder)
{
    struct wasm_module *module = decoder->module;
    const uint32_t count = wasm_read_count(&decoder->reader);

    if (module->has_data_count && count != module->data_count)
        wasm_reader_fail(&decoder->reader, "data count and data section have inconsistent lengths");
    if (decoder->reader.fault != NULL ||
        !wasm_decoder_grow(decoder, &module->data, 0, count, sizeof *module->data))
        return;
    module->data_count = count;
    for (uint32_t i = 0; i < count && decoder->reader.fault == NULL; i++)
        read_data_segment(decoder, &module->data[i]);
}

/* ---- sections ---- */

/* The sections of imports, definitions and exports. */

enum {
    MAX_PAGES = 65536, /* of 64 KiB: the whole 32-bit address space */
    FORM_FUNCTION = 0x60,
};

static struct wasm_bytes read_types(struct wasm_reader *reader)
{
    struct wasm_bytes types = wasm_read_bytes(reader);

    for (uint32_t i = 0; i < types.length; i++)
        if (!wasm_is_type(types.data[i]))
            wasm_reader_fail(reader, "malformed value type");
    return types;
}

static uint64_t fnv1a_bytes(uint64_t hash, struct wasm_bytes bytes)
{
    for (uint32_t i = 0; i < bytes.length; i++)
        hash = (hash ^ bytes.data[i]) * 0x100000001b3; /* FNV-1a */
    return (hash ^ bytes.length) * 0x100000001b3;
}

/* Finds for each type the first equal one, in time linear in their number. */
static void join_types(struct wasm_decoder *decoder)
{
    struct wasm_module *module = decoder->module;
    uint32_t size = 1;
    uint32_t *table;

    while (size < 2 * (uint64_t)module->type_count)
        size *= 2;
    table = calloc(size, sizeof *table);
    if (table == NULL) {
        wasm_decoder_stop(decoder, WASM_FAULT_NO_MEMORY, "out of memory for a module");
        return;
    }
    for (uint32_t i = 0; i < module->type_count; i++) {
        struct wasm_function_type *type = &module->types[i];
        uint64_t at = fnv1a_bytes(fnv1a_bytes(0xcbf29ce484222325, type->parameters), type->results);

        at ^= at >> 32;
        while (table[at & (size - 1)] != 0 &&
               !wasm_same_type(type, &module->types[table[at & (size - 1)] - 1]))
            at++;
        if (table[at & (size - 1)] == 0)
            table[at & (size - 1)] = i + 1;
        type->same_as = table[at & (size - 1)] - 1;
    }
    free(table);
}

void wasm_decode_types(struct wasm_decoder *decoder)
{
    struct wasm_module *module = decoder->module;
    struct wasm_reader *reader = &decoder->reader;
    const uint32_t count = wasm_read_count(reader);

    if (count > module->limits->types)
        wasm_decoder_stop(decoder, WASM_FAULT_TYPES, "more types than are allowed");
    if (reader->fault != NULL ||
        !wasm_decoder_grow(decoder, &module->types, 0, count, sizeof *module->types))
        return;
    for (uint32_t i = 0; i < count && reader->fault == NULL; i++) {
        if (wasm_read_byte(reader) != FORM_FUNCTION)
            wasm_reader_fail(reader, "malformed form of a type");
        module->types[i].parameters = read_types(reader);
        module->types[i].results = read_types(reader);
        if (module->types[i].results.length > 1 && module->limits->no_multi_value)
            wasm_reader_fail(reader, "more than one result is not allowed");
        module->type_count++;
    }
    if (reader->fault == NULL)
        join_types(decoder);
}

static struct wasm_range read_size_range(struct wasm_reader *reader, uint32_t most)
{
    const uint8_t flag = wasm_read_byte(reader);
    struct wasm_range range = {.maximum = WASM_NO_MAXIMUM};

    if (flag > 1)
        wasm_reader_fail(reader, "malformed limits flags");
    range.minimum = wasm_read_u32(reader);
    range.has_maximum = flag == 1;
    if (range.has_maximum)
        range.maximum = wasm_read_u32(reader);
    if (range.minimum > most || (range.has_maximum && range.maximum > most))
        wasm_reader_fail(reader, "memory size must be at most 65536 pages (4GiB)");
    if (range.minimum > range.maximum)
        wasm_reader_fail(reader, "size minimum must not be greater than maximum");
    return range;
}

static struct wasm_table_type read_table_type(struct wasm_decoder *decoder)
{
    struct wasm_table_type table = {.type = wasm_read_byte(&decoder->reader)};

    if (!wasm_is_reference(table.type))
        wasm_reader_fail(&decoder->reader, "malformed reference type");
    table.range = read_size_range(&decoder->reader, UINT32_MAX);
    if (decoder->module->limits->no_bulk_or_references && table.type != WASM_FUNCREF)
        wasm_reader_fail(&decoder->reader, "reference types are not allowed");
    if (table.range.minimum > decoder->module->limits->table_elements)
        wasm_decoder_stop(decoder, WASM_FAULT_TABLE_ELEMENTS,
                          "a table has more elements than are allowed");
    return table;
}

static struct wasm_global read_global_type(struct wasm_reader *reader)
{
    struct wasm_global global = {.type = wasm_read_byte(reader)};
    const uint8_t mutability = wasm_read_byte(reader);

    if (!wasm_is_type(global.type))
        wasm_reader_fail(reader, "malformed value type");
    if (mutability > 1)
        wasm_reader_fail(reader, "malformed mutability");
    global.is_mutable = mutability == 1;
    return global;
}

static uint32_t read_type_index(struct wasm_decoder *decoder)
{
    const uint32_t index = wasm_read_u32(&decoder->reader);

    if (index >= decoder->module->type_count)
        wasm_reader_fail(&decoder->reader, "unknown type");
    return index;
}

/* ---- imports ---- */

static bool may_import(struct wasm_decoder *decoder, const struct wasm_import *import)
{
    if (!decoder->module->limits->only_env_functions)
        return true;
    if (import->kind == WASM_MEMORY && wasm_bytes_are(import->module, "env"))
        wasm_decoder_stop(decoder, WASM_FAULT_IMPORT_MEMORY, "a memory may not be imported");
    else if (import->kind != WASM_FUNCTION || !wasm_bytes_are(import->module, "env"))
        wasm_decoder_stop(decoder, WASM_FAULT_IMPORT,
                          "nothing but functions may be imported, and only from \"env\"");
    return decoder->reader.fault == NULL;
}

static void read_import_type(struct wasm_decoder *decoder, struct wasm_import *import)
{
    struct wasm_module *module = decoder->module;

    switch (import->kind) {
    case WASM_FUNCTION:
        import->index = module->function_count++;
        module->functions[import->index].type = read_type_index(decoder);
        break;
    case WASM_TABLE:
        import->index = module->table_count++;
        module->tables[import->index] = read_table_type(decoder);
        break;
    case WASM_MEMORY:
        import->index = module->memory_count++;
        module->memories[import->index] = read_size_range(&decoder->reader, MAX_PAGES);
        break;
    case WASM_GLOBAL:
        import->index = module->global_count++;
        module->globals[import->index] = read_global_type(&decoder->reader);
        break;
    }
}

static bool grow_for_imports(struct wasm_decoder *decoder, uint32_t count)
{
    struct wasm_module *module = decoder->module;

    return wasm_decoder_grow(decoder, &module->imports, 0, count, sizeof *module->imports) &&
           wasm_decoder_grow(decoder, &module->functions, 0, count, sizeof *module->functions) &&
           wasm_decoder_grow(decoder, &module->tables, 0, count, sizeof *module->tables) &&
           wasm_decoder_grow(decoder, &module->memories, 0, count, sizeof *module->memories) &&
           wasm_decoder_grow(decoder, &module->globals, 0, count, sizeof *module->globals);
}

void wasm_decode_imports(struct wasm_decoder *decoder)
{
    struct wasm_module *module = decoder->module;
    struct wasm_reader *reader = &decoder->reader;
    const uint32_t count = wasm_read_count(reader);

    if (reader->fault != NULL || !grow_for_imports(decoder, count))
        return;
    for (uint32_t i = 0; i < count && reader->fault == NULL; i++) {
        struct wasm_import *import = &module->imports[module->import_count++];

        import->module = wasm_read_name(reader);
        import->name = wasm_read_name(reader);
        import->kind = (enum wasm_kind)wasm_read_byte(reader);
        if (import->kind > WASM_GLOBAL)
            wasm_reader_fail(reader, "malformed import kind");
        else if (may_import(decoder, import))
            read_import_type(decoder, import);
    }
    module->imported_functions = module->function_count;
    module->imported_tables = module->table_count;
    module->imported_memories = module->memory_count;
    module->imported_globals = module->global_count;
    if (module->function_count > module->limits->functions)
        wasm_decoder_stop(decoder, WASM_FAULT_FUNCTIONS, "more functions than are allowed");
    if (module->memory_count > 1)
        wasm_reader_fail(reader, "multiple memories");
}

/* ---- definitions ---- */

void wasm_decode_functions(struct wasm_decoder *decoder)
{
    struct wasm_module *module = decoder->module;
    struct wasm_reader *reader = &decoder->reader;
    const uint32_t count = wasm_read_count(reader);

    if (count > module->limits->functions ||
        count + (uint64_t)module->imported_functions > module->limits->functions)
        wasm_decoder_stop(decoder, WASM_FAULT_FUNCTIONS, "more functions than are allowed");
    if (reader->fault != NULL ||
        !wasm_decoder_grow(decoder, &module->functions, module->function_count, count,
                           sizeof *module->functions))
        return;
    for (uint32_t i = 0; i < count && reader->fault == NULL; i++)
        module->functions[module->function_count++].type = read_type_index(decoder);
}

void wasm_decode_tables(struct wasm_decoder *decoder)
{
    struct wasm_module *module = decoder->module;
    struct wasm_reader *reader = &decoder->reader;
    const uint32_t count = wasm_read_count(reader);

    if (count > module->limits->tables)
        wasm_decoder_stop(decoder, WASM_FAULT_TABLES, "more tables than are allowed");
    if (module->limits->no_bulk_or_references && count + module->table_count > 1)
        wasm_reader_fail(reader, "multiple tables");
    if (reader->fault != NULL || !wasm_decoder_grow(decoder, &module->tables, module->table_count,
                                                    count, sizeof *module->tables))
        return;
    for (uint32_t i = 0; i < count && reader->fault == NULL; i++)
        module->tables[module->table_count++] = read_table_type(decoder);
}

void wasm_decode_memories(struct wasm_decoder *decoder)
{
    struct wasm_module *module = decoder->module;
    struct wasm_reader *reader = &decoder->reader;
    const uint32_t count = wasm_read_count(reader);

    if (reader->fault == NULL && count + (uint64_t)module->memory_count > 1)
        wasm_reader_fail(reader, "multiple memories");
    if (reader->fault != NULL || count == 0 ||
        !wasm_decoder_grow(decoder, &module->memories, 0, 1, sizeof *module->memories))
        return;
    module->memories[module->memory_count++] = read_size_range(reader, MAX_PAGES);
}

void wasm_decode_globals(struct wasm_decoder *decoder)
{
    struct wasm_module *module = decoder->module;
    struct wasm_reader *reader = &decoder->reader;
    const uint32_t count = wasm_read_count(reader);

    if (count > module->limits->globals)
        wasm_decoder_stop(decoder, WASM_FAULT_GLOBALS, "more globals than are allowed");
    if (reader->fault != NULL || !wasm_decoder_grow(decoder, &module->globals, module->global_count,
                                                    count, sizeof *module->globals))
        return;
    for (uint32_t i = 0; i < count && reader->fault == NULL; i++) {
        struct wasm_global global = read_global_type(reader);

        global.initial = wasm_decode_constant(decoder, global.type);
        module->globals[module->global_count++] = global;
    }
}

static uint32_t count_of_kind(const struct wasm_module *module, enum wasm_kind kind)
{
    switch (kind) {
    case WASM_FUNCTION:
        return module->function_count;
    case WASM_TABLE:
        return module->table_count;
    case WASM_MEMORY:
        return module->memory_count;
    case WASM_GLOBAL:
        return module->global_count;
    }
    return 0;
}

static int compare_export_names(const void *left, const void *right)
{
    const struct wasm_bytes *a = *(const struct wasm_bytes *const *)left;
    const struct wasm_bytes *b = *(const struct wasm_bytes *const *)right;
    const uint32_t common = a->length < b->length ? a->length : b->length;
    const int order = common > 0 ? memcmp(a->data, b->data, common) : 0;

    return order != 0 ? order : (a->length > b->length) - (a->length < b->length);
}

/* Checks that names are unique; sorts them, because a module may have a million. */
static void check_names(struct wasm_decoder *decoder)
{
    const uint32_t count = decoder->module->export_count;
    const struct wasm_bytes **names = NULL; /* with as many again for the sort */

    if (!wasm_decoder_grow(decoder, &names, count, count, sizeof *names))
        return;
    for (uint32_t i = 0; i < count; i++)
        names[i] = &decoder->module->exports[i].name;
    sort_stable(names, count, sizeof *names, compare_export_names, names + count);
    for (uint32_t i = 1; i < count; i++)
        if (compare_export_names(&names[i - 1], &names[i]) == 0)
            wasm_reader_fail(&decoder->reader, "duplicate export name");
    free(names);
}

void wasm_decode_exports(struct wasm_decoder *decoder)
{
    struct wasm_module *module = decoder->module;
    struct wasm_reader *reader = &decoder->reader;
    const uint32_t count = wasm_read_count(reader);

    if (reader->fault != NULL ||
        !wasm_decoder_grow(decoder, &module->exports, 0, count, sizeof *module->exports))
        return;
    for (uint32_t i = 0; i < count && reader->fault == NULL; i++) {
        struct wasm_export *export = &module->exports[module->export_count++];

        export->name = wasm_read_name(reader);
        export->kind = (enum wasm_kind)wasm_read_byte(reader);
        export->index = wasm_read_u32(reader);
        if (export->kind > WASM_GLOBAL)
            wasm_reader_fail(reader, "malformed export kind");
        else if (export->index >= count_of_kind(module, export->kind))
            wasm_reader_fail(reader, "unknown function, table, memory or global");
        else if (export->kind == WASM_FUNCTION)
            module->functions[export->index].is_declared = true;
    }
    if (reader->fault == NULL)
        check_names(decoder);
}

void wasm_decode_start(struct wasm_decoder *decoder)
{
    struct wasm_module *module = decoder->module;
    const struct wasm_function_type *type;

    module->start = wasm_read_u32(&decoder->reader);
    module->has_start = true;
    if (module->start >= module->function_count) {
        wasm_reader_fail(&decoder->reader, "unknown function");
        return;
    }
    type = wasm_type_of_function(module, module->start);
    if (type->parameters.length != 0 || type->results.length != 0)
        wasm_reader_fail(&decoder->reader, "start function");
}

void wasm_decode_code(struct wasm_decoder *decoder)
{
    struct wasm_module *module = decoder->module;
    struct wasm_reader *reader = &decoder->reader;
    const uint32_t count = wasm_read_count(reader);

    if (count != module->function_count - module->imported_functions)
        wasm_reader_fail(reader, "function and code section have inconsistent lengths");
    for (uint32_t i = 0; i < count && reader->fault == NULL; i++) {
        struct wasm_bytes body = wasm_read_bytes(reader);

        if (body.length > module->limits->function_body_bytes)
            wasm_decoder_stop(decoder, WASM_FAULT_BODY, "a function is longer than is allowed");
        module->functions[module->imported_functions + i].body = body;
    }
}
