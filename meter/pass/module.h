/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_METER_PASS_MODULE_H
#define GASPIPE_METER_PASS_MODULE_H

#include "base/buf.h"
#include "meter/pass/ir.h"
#include "meter/pass/support.h"

/* Aligns arrays, structures and texts to 8 bytes on every machine, and to 16 from 16 bytes on, as
 * the x86-64 ABI wants for arrays. Some code first advances to the next whole word (zlib's CRC) or
 * reads whole words if it can (jansson's hash). With equal alignment it takes the same number of
 * steps wherever a linker puts the data. Variables in sections of their own are not changed. */
void alignment_raise(const struct ir *ir);

/*
 * Removes what would let LLVM drop, repeat or move calls that count.
 *
 * - memory(...), willreturn, speculatable and similar attributes of functions and calls: a metered
 * function writes to memory and may not return.
 *
 * - Knowledge about libc functions, except those that the table charges. Another module may define
 * one of that name, and count in it.
 *
 * - Bodies that exist only for inlining: they become internal, so that they count whether inlined
 * or not.
 *
 * Calls that the run-time part must see (_exit, sigaction, signal) are redirected to it.
 */
void attributes_prepare(const struct ir *ir);

/* Chooses the bank that each function's flushes add to. With one word for all, each flush would
 * wait for the previous store; that chain caused most of the metering cost. Call it after
 * optimisation: LLVM merges the flushes of inlined functions only if they name the same word. */
void banks_spread(const struct ir *ir);

/* Marks a function after whose return the carry (support.h) is not read. */
void dead_stores_mark(const struct ir *ir, LLVMValueRef function);

/* Removes stores to the carry that nothing reads, because the calls that they served were inlined.
 * LLVM keeps them, since any call might read the carry. Call it after optimisation. */
void dead_stores_remove(const struct ir *ir);

/* Passes what each dlsym() finds to the run-time part, which lists functions without a meter. Call
 * it after metering, because this costs nothing. */
void lookups_note(const struct ir *ir);

/* Lets pointers to functions of libc that are charged by bytes point to functions here that call
 * them, which charge. Call it before anything else is done to the module. */
void pointers_charge(const struct ir *ir);

/*
 * Collects notes about what the count covers. Each note is a string with '\0';
 * its first byte is its kind:
 *
 *   T1 HASH   version of the cost table, first 16 digits of its hash
 *   D NAME    a metered function
 *   C NAME    a function without a body here, of which a use is not charged
 *   X WORDS   code that may cost something else than it is charged: inline
 *             assembly, long double, unknown intrinsics
 *
 * Call it before the module is changed.
 */
void coverage_notes_collect(const struct ir *ir, struct buf *notes);

/* Puts the notes into the section "gasmeter_notes", which the run-time part reads. */
void coverage_notes_attach(const struct ir *ir, const struct buf *notes);

/* Appends a line with '\0' for each place that the notes X are about, "FILE:LINE: WORDS", and for
 * each use of a function of libc that nothing bounds. */
void unsure_places_collect(const struct ir *ir, struct buf *places);

#endif
