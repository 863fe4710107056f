/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_BASE_JSON_JSON_VALUE_H
#define GASPIPE_BASE_JSON_JSON_VALUE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

/*
 * Converts JSON text from JavaScript to jansson's values and back.
 *
 * The hazard: a JavaScript string may contain half of a surrogate pair, which JSON.stringify writes
 * as an escape (\ud800). jansson rejects such text. Strings read here therefore have marks. U+FFFE
 * and the character U+0800 + its last eleven bits stand for a half; two U+FFFE stand for one. So
 * strings stay UTF-8, and different JavaScript strings stay different. Code that compares, copies
 * and stores them need not know about marks. Only json_value_write() and json_value_write_string()
 * replace marks by escapes. Strings with neither are unchanged.
 */

/* Reads a value, which the caller owns; flags are those of json_loadb(). Returns NULL for invalid
 * JSON and for more than JSON_NODES_MAX values. *problem (may be NULL) then receives the reason; it
 * mentions a byte order mark. */
json_t *json_value_read(const char *text, size_t length, size_t flags, json_error_t *problem);

/* Reads JSON inside a string that was read with marks (the body of capdata). */
json_t *json_value_read_inner(const char *string, size_t length, size_t flags);

/* Appends a value on one line, without blanks, members in order. Returns -1 if out of memory, also
 * for value == NULL (json_pack() returns it then). */
int json_value_write(struct buf *buf, const json_t *value);

/* Appends a string that was read with marks. Failures stay in the buffer. */
void json_value_write_string(struct buf *buf, const char *string, size_t length);

/* Appends it with each '\0' marked too, so that C can hold it; it is written as \u0000. */
void json_value_c_string(struct buf *buf, const char *string, size_t length);

/* Appends it for display as UTF-8: U+FFFD replaces marked characters and '\0'. */
void json_value_show_string(struct buf *buf, const char *string, size_t length);

/*
 * The most values that one JSON text may consist of, arrays and objects included. Each takes
 * jansson up to 136 bytes on top of its text (an empty array, x86-64), so 64 MiB of `[]` would
 * take 2.6 GB. This keeps it below 300 MB.
 */
enum { JSON_NODES_MAX = 1 << 21 };

/* Returns how many values a text from a vat or a line may have: values take as much memory as text.
 * With this and NETSTRING_CAP_UP (proto/netstring.h) gaspipe stays below 300 MB with all its
 * copies. */
static inline size_t json_nodes_affordable(size_t length)
{
    enum { TEXT_MAX = 24 << 20, BYTES_PER_NODE = 32, LEAST = 1 << 16 };
    const size_t most = length < TEXT_MAX ? (TEXT_MAX - length) / BYTES_PER_NODE : 0;

    return most > LEAST ? most : LEAST;
}

/* Returns true if a JSON text has more than `most` values. The text need not be valid. */
bool json_nodes_exceed(const char *text, size_t length, size_t most);

/* Parses plain text like json_loadb(), several times as fast. Plain text is ASCII without \uXXXX,
 * with integers of up to 18 digits as its only numbers, keys without escapes, and at most 64
 * levels. Returns NULL for other texts and if out of memory; json_loadb() must decide then. It
 * supports the flags JSON_DECODE_ANY, JSON_REJECT_DUPLICATES and JSON_ALLOW_NUL; with others, no
 * text is plain. */
json_t *json_plain_read(const char *text, size_t length, size_t flags);

#endif
