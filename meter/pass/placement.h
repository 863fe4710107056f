/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_METER_PASS_PLACEMENT_H
#define GASPIPE_METER_PASS_PLACEMENT_H

#include "meter/pass/support.h"

/*
 * Adds the counting to a function.
 *
 * Each block charges its whole cost on entry. Costs that depend on a number of
 * bytes are charged where the bytes are moved. Units first go to the local
 * variable `pending`, which LLVM keeps in a register, sums up and moves out of
 * loops. A flush adds them to a bank in memory:
 *
 *   entry:  pending = 0             a local callee: pending = carry (carry.h)
 *   block:  pending += 7            its whole cost
 *   block:  bank += pending + 4     flush: before a call of other code,
 *           pending = 0                    and before the function ends
 *           call f
 *
 * The hazards:
 * - Other code (a callee, a signal handler, the target of longjmp or an
 *   exception) must find an exact count. Hence the flush before every call. The
 *   block's rest after the call is flushed with it, so that a function that ends
 *   right after a call need not flush again. Bounded callees need no flush.
 * - A long loop must notice a spent budget, but a check per turn would prevent
 *   vectorising. Hence two nested loops (loops.h).
 */
void placement_fast(const struct support *support, LLVMValueRef function);

/* The outer function of a bounded one (carry.h): it flushes. */
void placement_outer(const struct support *support, LLVMValueRef function);

/* Builds a call for each block. Tests compare the fast way with it. */
void placement_naive(const struct support *support, LLVMValueRef function);

#endif
