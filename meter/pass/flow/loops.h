/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_METER_PASS_FLOW_LOOPS_H
#define GASPIPE_METER_PASS_FLOW_LOOPS_H

#include "meter/pass/flow/graph.h"
#include "meter/pass/support.h"

/*
 * Sees to it that no loop runs for long without a look at what is pending.
 *
 *     head ... latch -> head    becomes    outer: look; left = SUPPORT_TURNS
 *                                          head ... latch -> next
 *                                          next: --left ? head : outer
 *
 * Both ends of the inner loop can be worked out beforehand where its own end can, so LLVM
 * vectorises it still. Where a head cannot be given other predecessors (phis, exceptions,
 * computed gotos) it looks each time.
 */
void loops_cut(const struct support *support, const struct graph *graph, LLVMValueRef pending);

#endif
