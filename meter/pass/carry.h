/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_METER_PASS_CARRY_H
#define GASPIPE_METER_PASS_CARRY_H

#include "meter/pass/ir.h"

/*
 * Two kinds of functions take units over from their callers or leave units to
 * them. Both use the carry, a thread-local word (support.h).
 *
 *   Local callee: only calls by name within the module reach it.
 *
 *     caller: carry = pending; call f        no flush before the call
 *     f:      pending = carry; ...           f flushes like any function, so
 *                                            nothing is pending on return
 *
 *   Bounded function: short, without loops, calls only bounded functions.
 *
 *     caller: call g; pending += carry       no flush, as if g were inlined
 *     g:      ...; carry = units; return     no flush, no budget check
 *
 * Both choices must not depend on the machine or on optimisation, since they
 * decide where a budget stops the code.
 */

/* Bounded functions end soon and run no foreign code. Units pending in the caller stay there across
 * the call. A call that may unwind (invoke) does not count as one. */
struct bounded {
    struct pointer_set functions;
    struct pointer_set outers; /* outer functions, for calls from elsewhere; see bounded_split() */
};

/* The most units that any path through a bounded function may cost. */
#define BOUNDED_MAX 256

/* Finds the bounded functions that the module calls. Other modules may call one too, by name or
 * address, and would not take its units. Its body then moves to an internal function, and an outer
 * function under the old name calls that one and flushes. Call it after attributes_prepare(). */
void bounded_split(struct bounded *bounded, const struct ir *ir);

void bounded_free(struct bounded *bounded);

/* Adds the local callees to the set. `bounded` functions, inner and outer, are not local callees:
 * they take no units from their callers. */
void local_callees_find(struct pointer_set *local_callees, const struct ir *ir,
                        const struct bounded *bounded);

/* Returns true if the instruction calls one. */
bool local_callees_calls(const struct pointer_set *local_callees, LLVMValueRef instruction);

#endif
