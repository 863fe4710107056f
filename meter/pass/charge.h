/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_METER_PASS_CHARGE_H
#define GASPIPE_METER_PASS_CHARGE_H

#include "meter/pass/ir.h"

/* Finds code that exists only for the machine's calling convention, which must not count because it
 * differs between machines. Examples are how a structure is split into registers and how va_arg
 * finds an argument. It handles clang's modules for x86-64 and aarch64 Linux before optimisation.
 * It uses data flow, types and attributes if possible, otherwise clang's names with a dot, which C
 * cannot write. */
struct convention {
    const struct ir *ir;
    struct pointer_set worked_out; /* values derived from va_list fields or member pointers */
};

/* The largest structure that any machine passes in registers (four vectors, aarch64). */
#define CONVENTION_SMALL 64

/* A larger number of bytes is charged where it is copied, not with the block. */
#define CHARGE_BYTES_MAX 32768

/* A switch with more cases flushes. */
#define CHARGE_CASES_MAX 32

/* Computes what each instruction of a function costs, from the table and the convention. If a cost
 * depends on a number of bytes that is known only at run time, it builds code for that part. */
struct charge {
    const struct ir *ir;
    const struct pointer_set *bounded; /* functions (carry.h); NULL: not known yet */
    struct convention convention;
};

/* Borrows `bounded`. Call charge_free() afterwards. */
void charge_init(struct charge *charge, const struct ir *ir, const struct pointer_set *bounded,
                 LLVMValueRef function);

void charge_free(struct charge *charge);

/* Returns the instruction's fixed units. */
uint64_t charge_fixed(const struct charge *charge, LLVMValueRef instruction);

/* Returns true if the instruction costs more units than the fixed ones. */
bool charge_is_variable(const struct charge *charge, LLVMValueRef instruction);

/* Builds the additional units that are known before the instruction; NULL if none. Leaves the
 * builder where they were built. */
LLVMValueRef charge_before(struct charge *charge, LLVMBuilderRef builder, LLVMValueRef instruction);

/* Likewise for those that depend on what it did. */
LLVMValueRef charge_after(struct charge *charge, LLVMBuilderRef builder, LLVMValueRef instruction);

/* Returns true if other code may run, or the function may end, in this instruction. Then the count
 * in memory must be exact. */
bool charge_leaves(const struct charge *charge, LLVMValueRef instruction);

/* Returns true for a jump to one of many places, as interpreters have it for each instruction. */
bool charge_dispatches(LLVMValueRef instruction);

/* Returns true if the instruction calls a bounded function, which leaves its cost in the carry. */
bool charge_carries(const struct charge *charge, LLVMValueRef instruction);

#endif
