/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_BASE_JSON_JSON_VALUE_H
#define GASPIPE_BASE_JSON_JSON_VALUE_H

#include <jansson.h>
#include <stddef.h>

#include "base/buf.h"

/*
 * JSON text into jansson's values and back, for text that JavaScript wrote.
 *
 * A string of JavaScript's may hold half of a surrogate pair; JSON.stringify writes it
 * as an escape (\ud800), and jansson takes no such text. In the values that are read here
 * such strings are marked: a half is U+FFFE and the character U+0800 + its last eleven
 * bits, and a U+FFFE of the string's own is two of them. So strings stay UTF-8, there is
 * one for each string of JavaScript's, and whoever compares, copies and keeps them need
 * not know; only json_value_write() and json_value_write_string() put escapes where the
 * marks are. A string without either is what it is elsewhere.
 */

/* The value, the caller's; flags are those of json_loadb(). NULL for what is no JSON and for more
 * than JSON_NODES_MAX values (json_nodes.h), with the reason in *problem where that is not NULL: a
 * byte order mark is named there. */
json_t *json_value_read(const char *text, size_t length, size_t flags, json_error_t *problem);

/* The same for JSON in a string that has been read so (the body of capdata). */
json_t *json_value_read_inner(const char *string, size_t length, size_t flags);

/* Appends a value on one line, without blanks, members in their order. -1: no memory, also for
 * value == NULL (json_pack() gives it then). */
int json_value_write(struct buf *buf, const json_t *value);

/* Appends a string that was read so. Failure stays in the buffer. */
void json_value_write_string(struct buf *buf, const char *string, size_t length);

/* Appends one with its '\0's marked as well, so that C can hold it; written they are \u0000. */
void json_value_c_string(struct buf *buf, const char *string, size_t length);

/* Appends one for people, as UTF-8: U+FFFD in the place of what is marked, and of '\0'. */
void json_value_show_string(struct buf *buf, const char *string, size_t length);

#endif
