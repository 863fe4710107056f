/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_METER_PASS_CONVENTION_H
#define GASPIPE_METER_PASS_CONVENTION_H

#include "meter/pass/ir.h"

/*
 * Front ends write the calling convention of the machine into a module: how a structure
 * is taken apart to be passed in registers, how va_arg finds an argument. That code is
 * another one on each machine, so it must not count. This finds it, in modules of clang for
 * x86-64 and aarch64 Linux, before optimisation; by data flow, types and attributes where
 * these say it, and by names that C has no way to write (they have a dot) where they do not.
 */
struct convention {
    const struct ir *ir;
    struct pointer_set worked_out; /* from the fields of a va_list, or from member pointers */
};

/* Looks at a function. convention_free() is the caller's to call. */
void convention_find(struct convention *convention, const struct ir *ir, LLVMValueRef function);

void convention_free(struct convention *convention);

/* Is this instruction there for the calling convention only, or for the function's own frame? */
bool convention_is_free(const struct convention *convention, LLVMValueRef instruction);

/*
 * Bytes of structures that this call copies as arguments, where the copy is left to the
 * code generator (attribute byval); 0 up to CONVENTION_SMALL, which another machine might
 * pass in registers.
 */
uint64_t convention_copied_bytes(const struct ir *ir, LLVMValueRef call);

/* The largest structure that any machine passes in registers (four vectors, aarch64). */
#define CONVENTION_SMALL 64

#endif
