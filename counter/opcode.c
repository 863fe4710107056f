/* SPDX-License-Identifier: Apache-2.0 */
#include "counter/opcode.h"

static bool is_prefix(uint8_t byte)
{
    return byte == 0x66 || byte == 0x67 || byte == 0xf0 || byte == 0xf2 || byte == 0xf3 ||
           byte == 0x2e || byte == 0x36 || byte == 0x3e || byte == 0x26 || byte == 0x64 ||
           byte == 0x65 || (byte >= 0x40 && byte <= 0x4f);
}

/* 0xf2 and 0xf3 come before 0x66, in whatever order they stand. */
static void take_prefix(struct opcode *opcode, uint8_t byte)
{
    opcode->extended = (byte & 0xf1) == 0x41; /* only just before the opcode does it count */
    opcode->lock |= byte == 0xf0;
    if (byte == 0xf2 || byte == 0xf3) {
        opcode->repeat = true;
        opcode->mandatory = byte;
    } else if (byte == 0x66 && !opcode->repeat) {
        opcode->mandatory = byte;
    }
}

/* Bytes of an instruction from somewhere on; a byte that is not there is 0. */
struct rest {
    const uint8_t *bytes;
    size_t size;
};

static uint8_t byte_at(struct rest rest, size_t at)
{
    return at < rest.size ? rest.bytes[at] : 0;
}

static void take_opcode(struct opcode *opcode, enum opcode_map map, struct rest rest, size_t at)
{
    opcode->map = at < rest.size ? map : OPCODE_UNKNOWN;
    opcode->byte = byte_at(rest, at);
    opcode->modrm = byte_at(rest, at + 1);
}

/* VEX carries the prefix and the map in its last byte and, in the long form, the one before. */
static void take_vex(struct opcode *opcode, struct rest rest)
{
    static const uint8_t prefixes[] = {0, 0x66, 0xf3, 0xf2};
    static const enum opcode_map maps[] = {[1] = OPCODE_0F, [2] = OPCODE_0F38, [3] = OPCODE_0F3A};
    bool is_long = byte_at(rest, 0) == 0xc4;
    unsigned map = is_long ? byte_at(rest, 1) & 31 : 1;

    opcode->is_vex = true;
    opcode->mandatory = prefixes[byte_at(rest, is_long ? 2 : 1) & 3];
    if (map < sizeof maps / sizeof *maps)
        take_opcode(opcode, maps[map], rest, is_long ? 3 : 2);
}

static void take_0f(struct opcode *opcode, struct rest rest)
{
    switch (byte_at(rest, 1)) {
    case 0x38:
        take_opcode(opcode, OPCODE_0F38, rest, 2);
        break;
    case 0x3a:
        take_opcode(opcode, OPCODE_0F3A, rest, 2);
        break;
    default:
        take_opcode(opcode, OPCODE_0F, rest, 1);
    }
}

struct opcode opcode_of(const uint8_t *bytes, size_t size)
{
    struct opcode opcode = {.map = OPCODE_UNKNOWN};
    struct rest rest;
    size_t at = 0;

    for (; at < size && is_prefix(bytes[at]); at++)
        take_prefix(&opcode, bytes[at]);
    rest = (struct rest){bytes + at, size - at};
    switch (byte_at(rest, 0)) {
    case 0x0f:
        take_0f(&opcode, rest);
        break;
    case 0xc4:
    case 0xc5:
        take_vex(&opcode, rest);
        break;
    case 0x62: /* EVEX */
        break;
    default:
        take_opcode(&opcode, OPCODE_ONE_BYTE, rest, 0);
    }
    return opcode;
}
