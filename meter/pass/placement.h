/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_METER_PASS_PLACEMENT_H
#define GASPIPE_METER_PASS_PLACEMENT_H

#include "meter/pass/support.h"

/*
 * Puts the counting into a function.
 *
 * Entering a block charges all of the block; what a number of bytes costs is charged where
 * they are moved. The fast way keeps what is pending in a local variable, which LLVM then
 * keeps in a register, adds up and moves out of loops; it is flushed before whatever lets
 * others run or leaves the function, so that longjmp, exceptions and signals find an exact
 * count. A block that leaves flushes all of its cost at once, so that a function that ends
 * right after a call has nothing left to flush. Calls of bounded functions are no reason to flush.
 *
 * A loop that can go round without a flush becomes two: the inner one does at most
 * SUPPORT_TURNS, so that LLVM can still work out how often it turns, and vectorise it.
 */
void placement_fast(const struct support *support, LLVMValueRef function);

/* What is left of a bounded function for calls from elsewhere (carry.h): it flushes. */
void placement_outer(const struct support *support, LLVMValueRef function);

/* The naive way: a call for each block. It proves the other. */
void placement_naive(const struct support *support, LLVMValueRef function);

#endif
