/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_METER_PASS_CARRY_H
#define GASPIPE_METER_PASS_CARRY_H

#include "meter/pass/ir.h"

/*
 * Heirs are functions that only calls by name within the module can reach. Such a call needs no
 * flush: the caller leaves what it has pending in the carry (support.h), and the heir begins with
 * that. It flushes as any other function does, so nothing is pending when it returns or unwinds.
 *
 * Which functions these are must not depend on the machine or on optimisation, since the
 * places where budgets stop depend on it.
 */

/* Adds them to `heirs`. `bounded` are functions that leave their caller's pending alone
 * (carry.h); they are no heirs. */
void heirs_find(struct pointer_set *heirs, const struct ir *ir, const struct pointer_set *bounded);

/* Does this call one? */
bool heirs_calls(const struct pointer_set *heirs, LLVMValueRef instruction);

/*
 * Functions that end soon and let nobody else run: without loops, and with calls of their own
 * kind only. A caller goes on counting across such a call as if the body stood there: it
 * flushes nothing before it, and no budget is looked at within. What the function costs it leaves
 * in the carry (support.h), where the caller takes it at once. A call that may be unwound (invoke)
 * is no such call.
 *
 * Which functions these are must not depend on the machine or on optimisation, since the
 * places where budgets stop depend on it.
 */
struct bounded {
    struct pointer_set functions;
    struct pointer_set
        outers; /* what is left of one for calls from elsewhere; see bounded_split() */
};

/* Units that such a function may cost, whatever way is taken through it. */
#define BOUNDED_MAX 256

/*
 * Finds those that the module calls. Where others may call one too, by its name or its address, its
 * body moves to a function of the module's own, and what is left calls that one: it has to
 * flush, since its caller will not. To be called once attributes are prepared.
 */
void bounded_split(struct bounded *bounded, const struct ir *ir);

void bounded_free(struct bounded *bounded);

#endif
