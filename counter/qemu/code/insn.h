/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_COUNTER_QEMU_CODE_INSN_H
#define GASPIPE_COUNTER_QEMU_CODE_INSN_H

#include <stdbool.h>
#include <stdint.h>

#include "counter/kind.h"

/* The properties of an x86-64 instruction that the counter needs, from its opcode. */
struct instruction {
    bool may_fault; /* it can end without completing, and a signal handler runs */
    bool raises;    /* it can fault for other reasons than memory accesses */
    bool repeats;   /* a string instruction with a rep prefix */
    bool atomic;    /* a locked read and write of memory */
};

/* No instruction is longer. */
#define INSTRUCTION_BYTES_MAX 15

/* Unknown instructions may fault for any reason. Too many faults cost time; too few would cost a
 * wrong count. */
struct instruction instruction_of(const struct opcode *opcode);

/* Consecutive instructions that are counted together, when the first one begins. */
struct insn_sequence {
    uint64_t address; /* of the first, in the guest */
    uint64_t length;  /* instructions */
    uint32_t number;  /* 1, 2, ... if the sequence is kept */
    uint32_t key;     /* a hash of the number, unique and not 0, if the sequence is kept */
    /* If kinds are counted: how many instructions there are of each kind. */
    uint16_t kinds[KIND_COUNT];
    uint16_t last_class, last_memory; /* indices into `kinds`, of the last instruction */
};

/* Appends an instruction. */
void insn_sequence_add_kind(struct insn_sequence *sequence, struct kind kind);

/* Returns a copy that lives as long as the process. Equal sequences share one copy, so translating
 * a block again costs no memory. NULL if out of memory. */
const struct insn_sequence *insn_sequence_keep(const struct insn_sequence *sequence);

/* Returns the kept sequence with that key. */
const struct insn_sequence *insn_sequence_of_key(uint32_t key);

#endif
