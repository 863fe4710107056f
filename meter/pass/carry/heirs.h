/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_METER_PASS_CARRY_HEIRS_H
#define GASPIPE_METER_PASS_CARRY_HEIRS_H

#include "meter/pass/ir/ir.h"
#include "meter/pass/ir/pointer_set.h"

/*
 * Heirs are functions that only calls by name within the module can reach. Such a call needs no
 * flush: the caller leaves what it has pending in the carry (support.h), and the heir begins with
 * that. It flushes as any other function does, so nothing is pending when it returns or unwinds.
 *
 * Which functions these are must not depend on the machine or on optimisation, since the
 * places where budgets stop depend on it.
 */

/* Adds them to `heirs`. `bounded` are functions that leave their caller's pending alone
 * (bounded.h); they are no heirs. */
void heirs_find(struct pointer_set *heirs, const struct ir *ir, const struct pointer_set *bounded);

/* Does this call one? */
bool heirs_calls(const struct pointer_set *heirs, LLVMValueRef instruction);

#endif
