/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "worker/wasm/module/module.h"

struct wasm_reader wasm_reader_over(const uint8_t *bytes, size_t length)
{
    return (struct wasm_reader){.start = bytes, .at = bytes, .end = bytes + length};
}

bool wasm_reader_fail(struct wasm_reader *reader, const char *fault)
{
    if (reader->fault == NULL) {
        reader->fault = fault;
        reader->fault_offset = (size_t)(reader->at - reader->start);
        /* Skips the rest, so that loops end soon after a fault. */
        reader->at = reader->end;
    }
    return false;
}

size_t wasm_reader_left(const struct wasm_reader *reader)
{
    return (size_t)(reader->end - reader->at);
}

uint8_t wasm_read_byte(struct wasm_reader *reader)
{
    if (reader->at == reader->end) {
        wasm_reader_fail(reader, "unexpected end");
        return 0;
    }
    return *reader->at++;
}

/* LEB128 of at most `bits` bits. Further bits in the last byte must repeat the sign, or be zero
 * if the number has no sign. */
static uint64_t read_leb(struct wasm_reader *reader, unsigned bits, bool is_signed)
{
    uint64_t value = 0;
    unsigned shift = 0;
    uint8_t byte;

    do {
        byte = wasm_read_byte(reader);
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (bits - shift < 7) {
            const unsigned used = is_signed ? bits - shift - 1 : bits - shift;
            const uint8_t rest = (uint8_t)((byte & 0x7f) >> used);
            const uint8_t ones = (uint8_t)(0x7f >> used);

            if ((byte & 0x80) != 0)
                wasm_reader_fail(reader, "integer representation too long");
            else if (rest != 0 && !(is_signed && rest == ones))
                wasm_reader_fail(reader, "integer too large");
            shift += 7;
            break;
        }
        shift += 7;
    } while ((byte & 0x80) != 0);
    if (is_signed && (byte & 0x40) != 0 && shift < 64)
        value |= ~(uint64_t)0 << shift;
    return reader->fault == NULL ? value : 0;
}

uint32_t wasm_read_u32(struct wasm_reader *reader)
{
    /* Most numbers take one byte. */
    if (reader->at != reader->end && *reader->at < 0x80)
        return *reader->at++;
    return (uint32_t)read_leb(reader, 32, false);
}

int32_t wasm_read_s32(struct wasm_reader *reader)
{
    return (int32_t)(uint32_t)read_leb(reader, 32, true);
}

int64_t wasm_read_s33(struct wasm_reader *reader)
{
    return (int64_t)read_leb(reader, 33, true);
}

int64_t wasm_read_s64(struct wasm_reader *reader)
{
    return (int64_t)read_leb(reader, 64, true);
}

uint64_t wasm_read_fixed(struct wasm_reader *reader, unsigned bytes)
{
    uint64_t value = 0;

    if (wasm_reader_left(reader) < bytes) {
        wasm_reader_fail(reader, "unexpected end");
        return 0;
    }
    for (unsigned i = 0; i < bytes; i++)
        value |= (uint64_t)reader->at[i] << (8 * i);
    reader->at += bytes;
    return value;
}

struct wasm_bytes wasm_read_bytes(struct wasm_reader *reader)
{
    struct wasm_bytes bytes = {.length = wasm_read_u32(reader)};

    if (bytes.length > wasm_reader_left(reader)) {
        wasm_reader_fail(reader, "length out of bounds");
        bytes.length = 0;
    }
    bytes.data = reader->at;
    reader->at += bytes.length;
    return bytes;
}

struct wasm_bytes wasm_read_name(struct wasm_reader *reader)
{
    struct wasm_bytes name = wasm_read_bytes(reader);

    if (!wasm_is_utf8(name.data, name.length))
        wasm_reader_fail(reader, "malformed UTF-8 encoding");
    return name;
}

uint32_t wasm_read_count(struct wasm_reader *reader)
{
    const uint32_t count = wasm_read_u32(reader);

    if (count > wasm_reader_left(reader)) {
        wasm_reader_fail(reader, "length out of bounds");
        return 0;
    }
    return count;
}

/* Returns the length of the character with this first byte; 0: invalid. */
static unsigned utf8_length(uint8_t first)
{
    if (first < 0x80)
        return 1;
    if (first >= 0xc2 && first < 0xe0)
        return 2;
    if (first >= 0xe0 && first < 0xf0)
        return 3;
    return first >= 0xf0 && first < 0xf5 ? 4 : 0;
}

/* Returns true if the second byte makes an overlong form, a surrogate, or more than U+10FFFF. */
static bool utf8_second_is_bad(uint8_t first, uint8_t second)
{
    return (first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) ||
           (first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f);
}

bool wasm_is_utf8(const uint8_t *bytes, size_t length)
{
    size_t at = 0;

    while (at < length) {
        const unsigned size = utf8_length(bytes[at]);

        if (size == 0 || size > length - at)
            return false;
        for (unsigned i = 1; i < size; i++)
            if ((bytes[at + i] & 0xc0) != 0x80)
                return false;
        if (size > 1 && utf8_second_is_bad(bytes[at], bytes[at + 1]))
            return false;
        at += size;
    }
    return true;
}
