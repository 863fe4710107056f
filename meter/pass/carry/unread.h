/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_METER_PASS_CARRY_UNREAD_H
#define GASPIPE_METER_PASS_CARRY_UNREAD_H

#include "meter/pass/ir/ir.h"

/* Says of a function that nobody reads the carry (support.h) after it has returned. */
void unread_mark(const struct ir *ir, LLVMValueRef function);

/*
 * To be called after optimisation: takes out the stores to the carry that nobody reads, since
 * the calls that they were for have been inlined. LLVM keeps them: any call might read it.
 */
void unread_remove(const struct ir *ir);

#endif
