/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_COUNTER_KIND_H
#define GASPIPE_COUNTER_KIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The opcode maps of x86-64 (AMD64 Architecture Programmer's Manual, volume 3, sections 1.1 and A;
 * Intel's, volume 2, sections 2.1 to 2.3). */

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
    uint8_t modrm;     /* the byte after the opcode, even if it is not a ModRM; 0 past the end */
    uint8_t mandatory; /* the prefix that chooses between instructions: 0, 0x66, 0xf2 or 0xf3 */
    bool repeat;       /* there is a prefix 0xf2 or 0xf3 */
    bool lock;         /* there is a prefix 0xf0 */
    bool extended;     /* REX.B: the register in the opcode is one of the upper eight */
    bool is_vex;
};

/* Reads at most `size` bytes. */
struct opcode opcode_of(const uint8_t *bytes, size_t size);

/* Returns true if ModRM names memory. Valid only for instructions that have a ModRM. */
static inline bool opcode_names_memory(const struct opcode *opcode)
{
    return opcode->modrm >> 6 != 3;
}

static inline unsigned opcode_field(const struct opcode *opcode)
{
    return opcode->modrm >> 3 & 7;
}

/* Each instruction has one class and one kind of memory access. The counts of either add up to the
 * number of instructions. */

enum kind_class {
    KIND_OTHER,      /* nop, hints, flags, and what is not known */
    KIND_MOVE,       /* mov, movzx, cmov, set, xchg, push, pop, ... */
    KIND_ARITHMETIC, /* add, sub, inc, dec, neg, cmp, lea, cmpxchg, ... on integers */
    KIND_LOGIC,      /* and, or, xor, not, test, shifts, rotations, bits */
    KIND_MULTIPLY,   /* multiplication and division of integers */
    KIND_BRANCH,     /* conditional: jcc, loop */
    KIND_JUMP,
    KIND_CALL,
    KIND_RETURN,
    KIND_STRING, /* movs, cmps, stos, lods, scas */
    KIND_FLOAT,  /* arithmetic, comparison, conversion: SSE and AVX; all of x87 */
    KIND_VECTOR, /* what else SSE, AVX and MMX do: moves, shuffles, integers */
    KIND_SYSTEM, /* system calls, cpuid, rdtsc, int3, fences, states, ... */
    KIND_CLASSES
};

enum kind_memory {
    KIND_NO_MEMORY,
    KIND_LOAD,
    KIND_STORE,
    KIND_LOAD_AND_STORE, /* add %rax,(%rbx); movs; push (%rax) */
    KIND_MEMORIES
};

/* Classes, then memories, in one array of counters. */
#define KIND_COUNT ((int)KIND_CLASSES + (int)KIND_MEMORIES)

struct kind {
    enum kind_class class;
    enum kind_memory memory;
};

/* Prefetches, nops with an operand and instruction fetches are not accesses; stack accesses are.
 * Instructions that no QEMU executes are KIND_OTHER. */
struct kind kind_of(const struct opcode *opcode);

/* The names in JSON: "move", ...; "none", "load", "store", "loadAndStore". */
extern const char *const kind_class_names[KIND_CLASSES];
extern const char *const kind_memory_names[KIND_MEMORIES];

#endif
