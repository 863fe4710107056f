/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_METER_PASS_FLOW_LOOPS_H
#define GASPIPE_METER_PASS_FLOW_LOOPS_H

#include "meter/pass/flow/graph.h"
#include "meter/pass/support.h"

/*
 * Sees to it that no loop runs for long without a look at what is pending.
 *
 *     block: br more, in, out   becomes   begin: left = SUPPORT_TURNS; br head
 *                                         outer: look; br begin
 *                                         block: --left; br more & left > 0, in, rest
 *                                         rest:  br more, outer, out
 *
 * where `block` is where the loop ends, its head or its bottom. A loop of one end stays one of
 * one end, whose turns can be worked out beforehand if they could before: LLVM vectorises it as
 * before. Where a loop ends in the middle or at several places, its edges back count the turns:
 *
 *     latch -> head             becomes   latch -> next; next: --left ? head : outer
 *
 * A loop within another that may turn without a flush begins at `outer`. Where a head cannot be
 * given other predecessors (phis, exceptions, computed gotos) it looks each time.
 */
void loops_cut(const struct support *support, const struct graph *graph, LLVMValueRef pending);

#endif
