/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_PROTO_DELIVERY_RESULT_H
#define GASPIPE_PROTO_DELIVERY_RESULT_H

#include "base/buf.h"
#include "proto/meter.h"

/*
 * Appends what the slog's deliver-result lines have as `dr`: ["ok",VALUE,METER], where
 * the value is JSON or, when NULL, null; ["error",WORDS,METER] where there is a
 * problem; METER null where the worker died (`meter` is NULL).
 */
void delivery_result_put(struct buf *dr, const char *problem, const char *value,
                         const struct meter *meter);

#endif
