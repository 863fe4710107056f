/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_METER_PASS_ATTRIBUTES_H
#define GASPIPE_METER_PASS_ATTRIBUTES_H

#include "meter/pass/ir/ir.h"

/*
 * Takes out of a module what would let LLVM drop, repeat or move calls that count:
 *
 * - memory(...), willreturn, speculatable and their like, on functions and calls: a metered
 *   function writes to memory and may not come back;
 * - knowledge of what a function of libc does, except of those that the table charges where
 *   they are called: another module may define one of that name, and count in it;
 * - bodies that are there to be inlined only: they become internal, so that they count
 *   whether or not they are inlined.
 *
 * Where the run-time part has to see a call (_exit, sigaction, signal), it gets the call.
 */
void attributes_prepare(const struct ir *ir);

#endif
