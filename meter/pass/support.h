/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_METER_PASS_SUPPORT_H
#define GASPIPE_METER_PASS_SUPPORT_H

#include "meter/pass/carry.h"

/*
 * What metered code uses: the banks and functions of the run-time part, and small functions
 * that are put into each module and inlined everywhere. They hold the branches, since LLVM's
 * C interface cannot split a block.
 */

/* Words that a thread's count is spread over; meter/runtime/ has as many. */
#define SUPPORT_BANKS 64

/* A loop brings to memory what it has pending when that is more. */
#define SUPPORT_PENDING_MAX 65536

/* A loop without a call looks at what is pending after so many units, and so many turns, at most.
 */
#define SUPPORT_LOOK_UNITS 32768
#define SUPPORT_TURNS      16384

/* A block that costs more looks at what is pending. */
#define SUPPORT_BLOCK_MAX 4096

struct support {
    const struct ir *ir;
    const struct bounded *bounded;
    const struct pointer_set *heirs;
    bool budgets;       /* each flush looks whether a budget is spent */
    bool profile;       /* units are told by function and line as well (profile.h) */
    LLVMValueRef banks; /* i64 thread-local; all flushes name the first, see module.h */
    LLVMValueRef carry; /* i64 thread-local: what the bounded function used that has just returned,
                         * or what is pending as an heir is called */
    LLVMValueRef flush; /* void (i64): adds to the banks */
    LLVMTypeRef flush_type;
    LLVMValueRef refill; /* void () of the run-time part, when a bank has reached zero */
    LLVMTypeRef refill_type;
    LLVMValueRef look; /* i64 (i64): what is pending, before and after a look at it */
    LLVMTypeRef look_type;
    LLVMValueRef block; /* void (i64) of the run-time part, for counting the naive way */
    unsigned scope_kind;
    unsigned noalias_kind;
    LLVMValueRef scope;
};

/* Declares and makes all of it; to be called before functions are metered. `bounded` and `heirs`
 * are borrowed. */
void support_make(struct support *support, const struct ir *ir, const struct bounded *bounded,
                  const struct pointer_set *heirs, bool budgets, bool profile);

/* Says of the function's own loads, stores and copies that they never touch the banks. */
void support_mark_function(const struct support *support, LLVMValueRef function);

/* What a bounded function leaves when it returns, and its caller takes at once; and what an heir's
 * caller leaves, and the heir takes. */
void support_build_carry(const struct support *support, LLVMBuilderRef builder, LLVMValueRef units);
LLVMValueRef support_build_take(const struct support *support, LLVMBuilderRef builder);

void support_build_flush(const struct support *support, LLVMBuilderRef builder, LLVMValueRef units);
/* A flush before a computed goto. The look at the budget adds no branch to it: one that is spent
 * makes it go elsewhere first. The builder stands before `jump`, which is replaced. */
void support_build_dispatch(const struct support *support, LLVMBuilderRef builder,
                            LLVMValueRef units, LLVMValueRef jump);

void support_build_block(const struct support *support, LLVMBuilderRef builder, LLVMValueRef units);

/* Returns what is pending afterwards. */
LLVMValueRef support_build_look(const struct support *support, LLVMBuilderRef builder,
                                LLVMValueRef pending);

/* Sets how probable the first successor of a conditional branch is: not at all. */
void support_mark_rare(const struct ir *ir, LLVMValueRef branch);

#endif
