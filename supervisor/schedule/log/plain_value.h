/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_SCHEDULE_LOG_PLAIN_VALUE_H
#define GASPIPE_SUPERVISOR_SCHEDULE_LOG_PLAIN_VALUE_H

#include <jansson.h>

#include "base/buf.h"
#include "base/error.h"

/*
 * Puts the value of `capdata`, {"body":"#SMALLCAPS","slots":[...]}, into `json`, which is
 * emptied first: decoded by smallcaps_decode(), for people and programs that know only JSON.
 * Capdata in another encoding is written as it is. -1 when memory ran out.
 */
int plain_value_write(struct buf *json, const json_t *capdata, struct error *error);

#endif
