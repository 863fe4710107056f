/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_KERNEL_RECORDS_CAPDATA_H
#define GASPIPE_KERNEL_RECORDS_CAPDATA_H

#include <jansson.h>
#include <stdbool.h>

#include "base/buf.h"
#include "base/error.h"

/*
 * Capdata, {"body":"#...","slots":[...]}. The body is smallcaps: JSON in which "$0" and "&1"
 * stand for slots, "+5" for a bigint, "!x" for a text (endo's
 * packages/marshal/docs/smallcaps-cheatsheet.md). Returned values are the caller's; NULL:
 * out of memory.
 */

/* The kernel's own values, as smallcaps trees. */
json_t *capdata_string(const char *text); /* escaped where it begins like something else */
json_t *capdata_error_tree(const char *words);

/* Any bytes as a JSON text; if they are not UTF-8, '?' replaces each non-ASCII byte. */
json_t *capdata_words(const char *words);

/* Makes capdata of a tree and its slots; takes over both. */
json_t *capdata_make(json_t *tree, json_t *slots);

/* Makes capdata of an Error with these words. */
json_t *capdata_error(const char *words);

/* Returns true if it is capdata whose slots are all krefs. */
bool capdata_has_krefs(const json_t *capdata);

/* Returns the slot that is the whole value, borrowed; NULL if the value is something else. */
const char *capdata_single_slot(const json_t *capdata);

/* Returns the method in methargs, for messages; "<unknown>" if it names none. */
void capdata_method(const json_t *methargs, struct buf *method);

/* Parses a body's tree; NULL if it is not smallcaps, or out of memory. */
json_t *capdata_tree(const json_t *capdata);

/* Returns the slot that a text stands for, borrowed; NULL if the text names no slot. */
const char *capdata_slot(const json_t *text, const json_t *slots);

/* Returns the text of a smallcaps value, unescaped, borrowed; NULL if it is not a text. */
const char *capdata_text(const json_t *value);

/* Returns true for a bigint or number that is whole and from 0 to 2^63 - 1. */
bool capdata_natural(const json_t *value, int64_t *number);

/*
 * Copies a part of a tree into another body. The slots that it uses are appended to
 * `slots_out` and renumbered. As endo's marshal does, it sorts the names of records and
 * omits errorId. NULL with ERROR_INPUT if a slot is missing.
 */
json_t *capdata_move(const json_t *tree, const json_t *slots, json_t *slots_out,
                     struct error *error);

#endif
