/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_COUNTER_OPCODE_H
#define GASPIPE_COUNTER_OPCODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Where an x86-64 instruction stands in the opcode maps (AMD64 Architecture
 * Programmer's Manual, volume 3, sections 1.1 and A; Intel's, volume 2,
 * sections 2.1 to 2.3).
 */

enum opcode_map {
    OPCODE_UNKNOWN, /* cut off, or of an encoding that no QEMU executes (EVEX, XOP) */
    OPCODE_ONE_BYTE,
    OPCODE_0F,
    OPCODE_0F38,
    OPCODE_0F3A,
};

struct opcode {
    enum opcode_map map;
    uint8_t byte;      /* the opcode within its map */
    uint8_t modrm;     /* the byte behind it, whether or not it is one; 0 where there is none */
    uint8_t mandatory; /* the prefix that chooses between instructions: 0, 0x66, 0xf2 or 0xf3 */
    bool repeat;       /* there is a prefix 0xf2 or 0xf3 */
    bool lock;         /* there is a prefix 0xf0 */
    bool extended;     /* REX.B: the register in the opcode is one of the upper eight */
    bool is_vex;
};

/* At most `size` bytes are looked at. */
struct opcode opcode_of(const uint8_t *bytes, size_t size);

/* What ModRM says; only for instructions that have it. */
static inline bool opcode_names_memory(const struct opcode *opcode)
{
    return opcode->modrm >> 6 != 3;
}

static inline unsigned opcode_field(const struct opcode *opcode)
{
    return opcode->modrm >> 3 & 7;
}

#endif
