/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_METER_PASS_CHARGE_H
#define GASPIPE_METER_PASS_CHARGE_H

#include "meter/pass/convention.h"

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
