/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_PLAIN_VALUE_H
#define GASPIPE_SUPERVISOR_PLAIN_VALUE_H

#include <jansson.h>

#include "base/buf.h"
#include "base/error.h"

/* Capdata, {"body":"#SMALLCAPS","slots":[...]}, for people and programs that know only JSON. */

/* Puts the JSON of capdata into an empty buffer. -1 when memory ran out. */
int plain_value_keep(struct buf *json, const json_t *capdata, struct error *error);

/*
 * The value in capdata's JSON as smallcaps_decode() has it, in `shown`, which is
 * emptied before; text that is no such capdata stays what it is. -1 when memory ran out.
 */
int plain_value_show(const struct buf *json, struct buf *shown, struct error *error);

#endif
