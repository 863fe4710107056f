/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_COUNTER_QEMU_CODE_INSN_H
#define GASPIPE_COUNTER_QEMU_CODE_INSN_H

#include <stdbool.h>
#include <stdint.h>

#include "counter/kind.h"

/* What the counter has to know of an x86-64 instruction, from its opcode. */
struct instruction {
    bool may_fault; /* it can end without having completed, and a handler run instead */
    bool raises;    /* it can do so for another reason than an access to memory */
    bool repeats;   /* a string instruction with a rep prefix */
    bool atomic;    /* it reads and writes memory in one, locked */
};

/* No instruction is longer. */
#define INSTRUCTION_BYTES_MAX 15

/*
 * An instruction that is not known here may fault for any reason. A mistake on
 * that side costs time, one on the other costs a wrong count.
 */
struct instruction instruction_of(const struct opcode *opcode);

/* Instructions in a row that are counted together, when the first of them begins. */
struct insn_sequence {
    uint64_t address; /* of the first, in the guest */
    uint64_t length;  /* instructions */
    uint32_t number;  /* of a kept one: they are counted as they come, from 1 */
    uint32_t key;     /* of a kept one: a hash of its number that no other has, nor is it 0 */
    /* Where somebody asked for kinds: how many of each there are. */
    uint16_t kinds[KIND_COUNT];
    uint16_t last_class, last_memory; /* indices into `kinds`, of the last instruction */
};

/* One more instruction, behind the others. */
void insn_sequence_add_kind(struct insn_sequence *sequence, struct kind kind);

/*
 * A copy that lives as long as the process; the same for the same sequence, so
 * that blocks may be translated any number of times. NULL without memory.
 */
const struct insn_sequence *insn_sequence_keep(const struct insn_sequence *sequence);

/* The kept one with that key. */
const struct insn_sequence *insn_sequence_of_key(uint32_t key);

#endif
