/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_METER_PASS_MODULE_H
#define GASPIPE_METER_PASS_MODULE_H

#include "base/buf.h"
#include "meter/pass/ir.h"
#include "meter/pass/support.h"

/*
 * Aligns variables that are arrays or structures, and texts, to 8 bytes on every machine, from 16
 * bytes on to 16, as the x86-64 ABI wants arrays: code that first goes to the next whole word, such
 * as zlib's CRC, or reads whole words where it can, such as jansson's hash, then takes the same
 * number of steps wherever a linker puts them. Variables in sections of their own stay where they
 * are.
 */
void alignment_raise(const struct ir *ir);

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

/*
 * Gives each function the bank that its flushes add to. With one word for all, each flush
 * would wait for the store of the one before: that chain was most of what metering cost. To
 * be called after optimisation, since LLVM merges the flushes of inlined functions only
 * while they name the same word.
 */
void banks_spread(const struct ir *ir);

/* Says of a function that nobody reads the carry (support.h) after it has returned. */
void unread_mark(const struct ir *ir, LLVMValueRef function);

/*
 * To be called after optimisation: takes out the stores to the carry that nobody reads, since
 * the calls that they were for have been inlined. LLVM keeps them: any call might read it.
 */
void unread_remove(const struct ir *ir);

/*
 * What a module has that the count cannot vouch for, and what it leaves to others. Notes
 * are strings with a '\0' behind each; the first byte says what it is:
 *
 *   T1 HASH     the version of the cost table and the first 16 digits of its hash
 *   D NAME      a metered function
 *   C NAME      a function that is called and has no body here
 *   X WORDS     what costs more, or other, than it is charged: inline assembly, long double,
 *               intrinsics that the table does not know
 *
 * survey() is to be called before the module is changed.
 */
void survey(const struct ir *ir, struct buf *notes);

/* Puts the notes into the section "gasmeter_notes", which the run-time part reads. */
void survey_attach(const struct ir *ir, const struct buf *notes);

/* The next note of a kind at or after `from`; NULL: none. */
const char *survey_next(const struct buf *notes, char kind, const char *from);

#endif
