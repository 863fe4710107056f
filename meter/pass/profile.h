/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_METER_PASS_PROFILE_H
#define GASPIPE_METER_PASS_PROFILE_H

#include "meter/pass/charge.h"

/*
 * Code that says which function and which line the units go to, and who called it; the count
 * itself stays as it is. Each activation of a function has a node of the run-time part's tree of
 * calls in a local variable and hands it over before each call, so that longjmp and exceptions
 * leave nothing wrong behind.
 */

/* A line of the function, and its record in the module. */
struct profile_line {
    const char *file; /* LLVM's own, so that equal pointers are equal files; NULL: not known */
    unsigned number;  /* 0: not known */
    uint64_t units;   /* of the block at hand */
    LLVMValueRef record;
};

/* One function while it is metered. */
struct profile {
    const struct ir *ir;
    LLVMBuilderRef builder;
    LLVMValueRef function;
    LLVMValueRef record; /* of the function; NULL: nothing is built yet */
    LLVMValueRef node;   /* the local variable */
    struct profile_line *lines;
    size_t line_count;
    size_t line_capacity;
    size_t present; /* index of the line of the last instruction that says it */
};

/* The builder is borrowed. profile_free() is the caller's to call. */
void profile_init(struct profile *profile, const struct ir *ir, LLVMBuilderRef builder,
                  LLVMValueRef function);
void profile_free(struct profile *profile);

/*
 * Gives the fixed units of a block to its lines, at `first`. To be called before anything else is
 * built in the block, and for the function's first block first.
 */
void profile_block(struct profile *profile, const struct charge *charge, LLVMBasicBlockRef block,
                   LLVMValueRef first);

/* Gives units that only the run knows to the line of an instruction, where the builder stands. */
void profile_units(struct profile *profile, LLVMValueRef instruction, LLVMValueRef units);

/* Before an instruction in which others can run, and before one that ends the function. */
void profile_call(struct profile *profile);
void profile_return(struct profile *profile);

#endif
