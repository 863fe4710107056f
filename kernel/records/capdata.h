/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_KERNEL_RECORDS_CAPDATA_H
#define GASPIPE_KERNEL_RECORDS_CAPDATA_H

#include <jansson.h>
#include <stdbool.h>

#include "base/buf.h"
#include "base/error.h"

/*
 * Capdata, {"body":"#...","slots":[...]}: the body is smallcaps (JSON in which
 * "$0" and "&1" stand for slots, "+5" for a bigint, "!x" for a text; endo's
 * packages/marshal/docs/smallcaps-cheatsheet.md). What functions here make is
 * the caller's; NULL when memory ran out.
 */

/* The kernel's own values, as smallcaps trees. */
json_t *capdata_string(const char *text); /* escaped where it begins like something else */
json_t *capdata_error_tree(const char *words);

/* Words of any bytes as a JSON text: where they are no UTF-8, '?' for what is not ASCII. */
json_t *capdata_words(const char *words);

/* Capdata of a tree and its slots; takes both over. */
json_t *capdata_make(json_t *tree, json_t *slots);

/* Of an Error with these words. */
json_t *capdata_error(const char *words);

/* Whether it is capdata and its slots are all krefs. */
bool capdata_has_krefs(const json_t *capdata);

/* The slot that is all of the value, borrowed; NULL: the value is something else. */
const char *capdata_single_slot(const json_t *capdata);

/* The method that methargs name, for words about it; "<unknown>" where there is none. */
void capdata_method(const json_t *methargs, struct buf *method);

/* The tree of a body; NULL when it is no smallcaps body (or memory ran out). */
json_t *capdata_tree(const json_t *capdata);

/*
 * Which slot a text of a tree stands for, borrowed; NULL: it is no such text, or
 * there is no such slot.
 */
const char *capdata_slot(const json_t *text, const json_t *slots);

/* The text that a smallcaps value is, unescaped, borrowed; NULL: it is something else. */
const char *capdata_text(const json_t *value);

/* A bigint or number that is a whole number from 0 up to 2^63 - 1. */
bool capdata_natural(const json_t *value, int64_t *number);

/*
 * A part of a tree as it looks in another body: the slots that it uses out of
 * `slots` are appended to `slots_out` and numbered so; names of records sorted
 * and errors without errorId, as endo's marshal writes them again. NULL with
 * ERROR_INPUT for a slot that is not there.
 */
json_t *capdata_move(const json_t *tree, const json_t *slots, json_t *slots_out,
                     struct error *error);

#endif
