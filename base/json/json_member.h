/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_BASE_JSON_JSON_MEMBER_H
#define GASPIPE_BASE_JSON_JSON_MEMBER_H

#include <stdint.h>

#include "base/buf.h"

/*
 * Writes members of a JSON object that already has one: each call appends `,"name":` and a value.
 * Names need no escape. INT64_MIN and numbers that are not finite are absent and written as null.
 * A failure to allocate stays in the buffer (buf_failed()).
 */

/* The caller appends the value. */
void json_member(struct buf *out, const char *name);

void json_member_null(struct buf *out, const char *name);
void json_member_text(struct buf *out, const char *name, const char *text);

/* Writes null for "". */
void json_member_text_or_null(struct buf *out, const char *name, const char *text);

void json_member_integer(struct buf *out, const char *name, int64_t number);

/* Seconds with nine decimals. */
void json_member_seconds(struct buf *out, const char *name, int64_t nanoseconds);

/* With all digits of the double. */
void json_member_number(struct buf *out, const char *name, double number);

#endif
