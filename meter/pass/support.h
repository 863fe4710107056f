/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_METER_PASS_SUPPORT_H
#define GASPIPE_METER_PASS_SUPPORT_H

#include "meter/pass/carry.h"

/* The parts that metered code uses: banks and functions of the run-time part, and small functions
 * that each module gets and LLVM inlines. Branches are in those functions, because LLVM's C
 * interface cannot split a block. */

/* A thread's count is spread over this many words; the same as in meter/runtime/. */
#define SUPPORT_BANKS 64

/* A loop with more pending units flushes. */
#define SUPPORT_PENDING_MAX 65536

/* A loop without a call checks its pending units at least after this many units and this many
 * turns. */
#define SUPPORT_LOOK_UNITS 32768
#define SUPPORT_TURNS      16384

/* A block that costs more checks its pending units. */
#define SUPPORT_BLOCK_MAX 4096

struct support {
    const struct ir *ir;
    const struct bounded *bounded;
    const struct pointer_set *local_callees;
    bool budgets;       /* each flush checks whether a budget is spent */
    bool profile;       /* also attribute units to functions and lines (profile.h) */
    LLVMValueRef banks; /* i64 thread-local; all flushes name the first word, see module.h */
    LLVMValueRef carry; /* i64 thread-local: units of the bounded function that just returned, or
                         * pending units for a local callee */
    LLVMValueRef flush; /* void (i64): adds to the banks */
    LLVMTypeRef flush_type;
    LLVMValueRef refill; /* void () of the run-time part, called when a bank reaches zero */
    LLVMTypeRef refill_type;
    LLVMValueRef look; /* i64 (i64): takes the pending units, returns those left after a check */
    LLVMTypeRef look_type;
    LLVMValueRef block; /* void (i64) of the run-time part, for the naive way */
    unsigned scope_kind;
    unsigned noalias_kind;
    LLVMValueRef scope;
};

/* Declares and builds all of it. Call it before metering functions. Borrows `bounded` and
 * `local_callees`. */
void support_make(struct support *support, const struct ir *ir, const struct bounded *bounded,
                  const struct pointer_set *local_callees, bool budgets, bool profile);

/* Marks the function's own loads, stores and copies as not touching the banks. */
void support_mark_function(const struct support *support, LLVMValueRef function);

/* Write and read the carry: a bounded function leaves units for its caller, and a caller leaves
 * units for its local callee. */
void support_build_carry(const struct support *support, LLVMBuilderRef builder, LLVMValueRef units);
LLVMValueRef support_build_take(const struct support *support, LLVMBuilderRef builder);

void support_build_flush(const struct support *support, LLVMBuilderRef builder, LLVMValueRef units);
/* Flushes before a computed goto. The budget check adds no branch: a spent budget makes the goto
 * jump to a detour first. The builder must be before `jump`, which is replaced. */
void support_build_dispatch(const struct support *support, LLVMBuilderRef builder,
                            LLVMValueRef units, LLVMValueRef jump);

void support_build_block(const struct support *support, LLVMBuilderRef builder, LLVMValueRef units);

/* Returns the units still pending. */
LLVMValueRef support_build_look(const struct support *support, LLVMBuilderRef builder,
                                LLVMValueRef pending);

/* Marks the first successor of a conditional branch as very unlikely. */
void support_mark_rare(const struct ir *ir, LLVMValueRef branch);

#endif
