/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_BASE_JSON_JSON_VALUE_H
#define GASPIPE_BASE_JSON_JSON_VALUE_H

#include <jansson.h>
#include <stdbool.h>
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

/*
 * The most values that one JSON text may consist of, arrays and objects included. Each takes
 * jansson up to 136 bytes on top of its text (an empty array, x86-64), so 64 MiB of `[]` would
 * take 2.6 GB. This keeps it below 300 MB.
 */
enum { JSON_NODES_MAX = 1 << 21 };

/*
 * How many values a text that a vat or a line sends may have: values take as much memory as text.
 * With this and NETSTRING_CAP_UP (proto/netstring.h) gaspipe stays below 300 MB with all its
 * copies.
 */
static inline size_t json_nodes_affordable(size_t length)
{
    enum { TEXT_MAX = 24 << 20, BYTES_PER_NODE = 32, LEAST = 1 << 16 };
    const size_t most = length < TEXT_MAX ? (TEXT_MAX - length) / BYTES_PER_NODE : 0;

    return most > LEAST ? most : LEAST;
}

/* Returns true if a JSON text has more than `most` values. The text need not be valid. */
bool json_nodes_exceed(const char *text, size_t length, size_t most);

/*
 * What json_loadb() makes of a text, several times as fast, where the text is plain: ASCII, no
 * \uXXXX, integers of up to 18 digits as its only numbers, keys without escapes, no more than 64
 * values within each other. NULL for all other texts, JSON or not, and when memory ran out: then
 * json_loadb() has to judge. Of its flags this knows JSON_DECODE_ANY, JSON_REJECT_DUPLICATES and
 * JSON_ALLOW_NUL; with others no text is plain.
 */
json_t *json_plain_read(const char *text, size_t length, size_t flags);

#endif
