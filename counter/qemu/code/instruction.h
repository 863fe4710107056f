/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_COUNTER_QEMU_CODE_INSTRUCTION_H
#define GASPIPE_COUNTER_QEMU_CODE_INSTRUCTION_H

#include <stdbool.h>

#include "counter/opcode.h"

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

#endif
