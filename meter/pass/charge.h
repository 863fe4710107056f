/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_METER_PASS_CHARGE_H
#define GASPIPE_METER_PASS_CHARGE_H

#include "meter/pass/ir.h"

/*
 * Front ends write the calling convention of the machine into a module: how a structure
 * is taken apart to be passed in registers, how va_arg finds an argument. That code is
 * another one on each machine, so it must not count. This finds it, in modules of clang for
 * x86-64 and aarch64 Linux, before optimisation; by data flow, types and attributes where
 * these say it, and by names that C has no way to write (they have a dot) where they do not.
 */
struct convention {
    const struct ir *ir;
    struct pointer_set worked_out; /* from the fields of a va_list, or from member pointers */
};

/* Looks at a function. convention_free() is the caller's to call. */
void convention_find(struct convention *convention, const struct ir *ir, LLVMValueRef function);

void convention_free(struct convention *convention);

/* Is this instruction there for the calling convention only, or for the function's own frame? */
bool convention_is_free(const struct convention *convention, LLVMValueRef instruction);

/*
 * Bytes of structures that this call copies as arguments, where the copy is left to the
 * code generator (attribute byval); 0 up to CONVENTION_SMALL, which another machine might
 * pass in registers.
 */
uint64_t convention_copied_bytes(const struct ir *ir, LLVMValueRef call);

/* The largest structure that any machine passes in registers (four vectors, aarch64). */
#define CONVENTION_SMALL 64

/* More bytes at once are no part of what a block costs. */
#define CHARGE_BYTES_MAX 32768

/* A switch of more cases flushes. */
#define CHARGE_CASES_MAX 32

/*
 * What each instruction of a function costs, by the table and the convention. Of a cost that
 * depends on a number of bytes the part that only the run knows is code, which these build.
 */
struct charge {
    const struct ir *ir;
    const struct pointer_set *bounded; /* functions (carry.h); NULL: not known yet */
    struct convention convention;
};

/* charge_free() is the caller's to call; `bounded` is borrowed. */
void charge_init(struct charge *charge, const struct ir *ir, const struct pointer_set *bounded,
                 LLVMValueRef function);

void charge_free(struct charge *charge);

/* Units that an instruction costs each time, whatever it is given. */
uint64_t charge_fixed(const struct charge *charge, LLVMValueRef instruction);

/* Does the instruction cost units beside the fixed ones? */
bool charge_is_variable(const struct charge *charge, LLVMValueRef instruction);

/* Builds, where the builder stands, the units that it costs beside; NULL: there are none.
 * The builder stands before the instruction. */
LLVMValueRef charge_before(struct charge *charge, LLVMBuilderRef builder, LLVMValueRef instruction);

/* The same for what only its result tells; the builder stands behind the instruction. */
LLVMValueRef charge_after(struct charge *charge, LLVMBuilderRef builder, LLVMValueRef instruction);

/* Can others run, or this function be left, in this instruction? Then the count has to be right. */
bool charge_leaves(const struct charge *charge, LLVMValueRef instruction);

/* Is it a jump to one of many places, such as interpreters have for each of their instructions? */
bool charge_dispatches(LLVMValueRef instruction);

/* Does it call a bounded function, which leaves its cost in the carry? */
bool charge_carries(const struct charge *charge, LLVMValueRef instruction);

#endif
