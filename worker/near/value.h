/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_WORKER_NEAR_VALUE_H
#define GASPIPE_WORKER_NEAR_VALUE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

/* Bytes of contracts as JSON, and JSON as smallcaps, which is what vats send each other. */

/* The plain value that capdata without slots holds, the caller's; NULL for what is no plain data.
 */
json_t *near_value_read(const json_t *capdata);

/* Appends the body of capdata: '#' and the value in smallcaps, in quotes. */
void near_value_write_body(struct buf *buf, json_t *value);

/* A value as bytes, appended: a string as its bytes, {"base64": ..} as any bytes, null as none,
 * anything else as its JSON. -1 when it cannot be read. */
int near_value_bytes(struct buf *bytes, const json_t *value);

/* The other way, so that the same bytes come back: text as a string, other bytes in base64. The
 * caller's; NULL without memory. */
json_t *near_value_exact(const void *bytes, size_t length);

/* Bytes as people want to see them: JSON as what it says, other text as a string, other bytes in
 * base64, as a string. */
json_t *near_value_shown(const void *bytes, size_t length);

/* What a message's result is resolved with: a call's bytes, exactly or as people want to see them;
 * NULL, which is undefined, for none that are to be seen. The caller's. */
json_t *near_value_of_result(const struct buf *bytes, bool is_exact);

/* Base64 of OpenSSL's kind. Appends; -1 when it is none, or without memory. */
int near_base64_decode(struct buf *bytes, const char *text, size_t length);

#endif
