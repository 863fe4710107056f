/* SPDX-License-Identifier: Apache-2.0 */
/* Constant expressions, and the segments of elements and data that begin with one. */
#include "worker/wasm/module/decoder.h"

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

/* One instruction, and the type of what it gives. */
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

struct wasm_constant wasm_decode_constant(struct wasm_decoder *decoder, uint8_t type)
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

/* The kind (a byte 0: functions) or type of the items, where the segment says it. */
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
