/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_BASE_JSON_JSON_TEXT_H
#define GASPIPE_BASE_JSON_JSON_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/*
 * Writing JSON text into a buffer, for lines that are written often (slog,
 * meter, --json); reading JSON is base/json/json_value.h's work. Failure of memory stays in
 * the buffer (buf_failed()).
 */

/* A JSON string, as JSON.stringify writes it: quotes, escapes; the bytes are taken to be UTF-8. */
void json_text_string(struct buf *buf, const char *bytes, size_t length);

/* An array of the lines of a text, without a '\n' at its end. */
void json_text_lines(struct buf *buf, const char *text);

/* The same as a string without the quotes. */
void json_text_escape(struct buf *buf, const char *bytes, size_t length);

/* Seconds with six decimals out of microseconds, as xsnap writes timestamps. */
void json_text_seconds(struct buf *buf, int64_t microseconds);

/* Seconds with nine decimals out of nanoseconds. */
void json_text_nanoseconds(struct buf *buf, int64_t nanoseconds);

/* A decimal integer. */
void json_text_integer(struct buf *buf, int64_t number);
void json_text_unsigned(struct buf *buf, uint64_t number);

/*
 * The same for who has made room himself: each writes at most JSON_TEXT_NUMBER_MAX bytes
 * from `at` on, without a '\0', and returns where they end.
 */
enum { JSON_TEXT_NUMBER_MAX = 22 }; /* 20 digits of 64 bits, a point, and a sign */
char *json_text_put_unsigned(char *at, uint64_t number);
char *json_text_put_integer(char *at, int64_t number);
char *json_text_put_seconds(char *at, int64_t microseconds);
char *json_text_put_nanoseconds(char *at, int64_t nanoseconds);

#endif
