/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_COUNTER_KIND_H
#define GASPIPE_COUNTER_KIND_H

#include "counter/opcode.h"

/*
 * What kind of instruction it is, in two ways. By class: each instruction is in
 * exactly one. By what it does to memory: likewise. So the counts of either add
 * up to the number of instructions.
 */

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
    KIND_SYSTEM, /* syscall, cpuid, rdtsc, int3, fences, states, ... */
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

/*
 * Prefetches, nops with an operand and fetching the instruction itself are no
 * accesses; the stack's are. What no QEMU executes is KIND_OTHER.
 */
struct kind kind_of(const struct opcode *opcode);

/* As they are called in JSON: "move", ...; "none", "load", "store", "loadAndStore". */
extern const char *const kind_class_names[KIND_CLASSES];
extern const char *const kind_memory_names[KIND_MEMORIES];

#endif
