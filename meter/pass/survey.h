/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_METER_PASS_SURVEY_H
#define GASPIPE_METER_PASS_SURVEY_H

#include "base/buf.h"
#include "meter/pass/ir/ir.h"

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
