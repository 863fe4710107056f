/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_SMALLCAPS_H
#define GASPIPE_SUPERVISOR_SMALLCAPS_H

#include <jansson.h>

/*
 * Smallcaps, the encoding of SwingSet's message bodies: JSON in which a string
 * that begins with a character from '!' to '-' means something else than
 * itself, unless another '!' stands before it.
 * https://github.com/endojs/endo/blob/master/packages/marshal/docs/smallcaps-cheatsheet.md
 */

/*
 * The arguments of a delivery line as they stand in a body. A new reference;
 * NULL when memory ran out.
 */
json_t *smallcaps_encode(const json_t *value);

/*
 * A body's value for people and programs that know only JSON: escapes are taken
 * away, #undefined becomes null, a big integer the string of its digits, and
 * what else JSON cannot say (NaN, slots) stays the string that it is in the body. A new reference;
 * NULL when memory ran out.
 */
json_t *smallcaps_decode(const json_t *value);

#endif
