/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_SMALLCAPS_H
#define GASPIPE_SUPERVISOR_SMALLCAPS_H

#include <jansson.h>

#include "base/error.h"

/*
 * Smallcaps, the encoding of SwingSet's message bodies: JSON in which a string
 * that begins with a character from '!' to '-' means something else than
 * itself, unless another '!' stands before it.
 * https://github.com/endojs/endo/blob/master/packages/marshal/docs/smallcaps-cheatsheet.md
 */

/* Names what a delivery line refers to. */
struct smallcaps_names {
    void *context;
    /*
     * The kernel's reference for {"@KIND":NAME}, where KIND is "vat", "device" or "result":
     * a new string. -1 with ERROR_INPUT when there is no such thing.
     */
    int (*find)(void *context, const char *kind, const char *name, char **reference,
                struct error *error);
};

/*
 * The arguments of a delivery line as they stand in a body, a new reference. Objects
 * of one member named "@vat", "@device" or "@result" become slots, whose references
 * are appended to the array `slots`; {"@bigint":"-12"} becomes a big integer. NULL
 * with ERROR_INPUT or, when memory ran out, ERROR_SYSTEM.
 */
json_t *smallcaps_encode(const json_t *value, const struct smallcaps_names *names, json_t *slots,
                         struct error *error);

/*
 * A body's value for people and programs that know only JSON: escapes are taken
 * away, #undefined becomes null, a big integer the string of its digits, and
 * what else JSON cannot say (NaN, slots) stays the string that it is in the body. A new reference;
 * NULL when memory ran out.
 */
json_t *smallcaps_decode(const json_t *value);

#endif
