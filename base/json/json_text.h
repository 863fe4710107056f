/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_BASE_JSON_JSON_TEXT_H
#define GASPIPE_BASE_JSON_JSON_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* Writes JSON text into a buffer, for frequent lines (slog, meter, --json); base/json/json_value.h
 * reads JSON. Failures to allocate stay in the buffer (buf_failed()). */

/* Appends a JSON string as JSON.stringify writes it, with quotes and escapes. Expects UTF-8. */
void json_text_string(struct buf *buf, const char *bytes, size_t length);

/* Appends an array of the lines of a text without a final '\n'. */
void json_text_lines(struct buf *buf, const char *text);

/* Appends the string without its quotes. */
void json_text_escape(struct buf *buf, const char *bytes, size_t length);

/* Appends microseconds as seconds with six decimals, as in xsnap's timestamps. */
void json_text_seconds(struct buf *buf, int64_t microseconds);

/* Appends nanoseconds as seconds with nine decimals. */
void json_text_nanoseconds(struct buf *buf, int64_t nanoseconds);

/* A decimal integer. */
void json_text_integer(struct buf *buf, int64_t number);
void json_text_unsigned(struct buf *buf, uint64_t number);

/* For callers that reserved space: each writes at most JSON_TEXT_NUMBER_MAX bytes at `at`, without
 * a '\0', and returns their end. */
enum { JSON_TEXT_NUMBER_MAX = 22 }; /* 20 digits of 64 bits, a point, and a sign */
char *json_text_put_unsigned(char *at, uint64_t number);
char *json_text_put_integer(char *at, int64_t number);
char *json_text_put_seconds(char *at, int64_t microseconds);
char *json_text_put_nanoseconds(char *at, int64_t nanoseconds);

#endif
