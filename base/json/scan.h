/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_BASE_JSON_SCAN_H
#define GASPIPE_BASE_JSON_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/buf.h"

/*
 * Finds values in JSON text without building a tree.
 *
 * A slog line has a few short members that matter and long ones that rarely do. The scanner skips
 * the long ones 64 bytes at a time. It only checks that brackets and quotes close, not what is
 * between them. It accepts what JSON.stringify writes and strict parsers refuse: \u0000, lone
 * surrogates, numbers of any size.
 *
 * Text is borrowed and never changed. SCAN_PADDING bytes after its end must be readable with any
 * content, because whole blocks are loaded.
 */
enum { SCAN_PADDING = 64 };

/* The byte order mark that Windows programs write; JSON does not allow it. */
#define SCAN_BOM     "\xef\xbb\xbf"
#define SCAN_BOM_WHY "begins with a byte order mark (BOM); save the file as UTF-8 without one"

static inline bool scan_has_bom(const char *text, size_t length)
{
    return length >= sizeof SCAN_BOM - 1 && memcmp(text, SCAN_BOM, sizeof SCAN_BOM - 1) == 0;
}

/* A piece of text; at == NULL: absent. */
struct scan_span {
    const char *at;
    size_t length;
};

/* The unread rest of an array or object; `at` points into the text. */
struct scan_cursor {
    const char *at;
    const char *end;
};

/* The result of scan_member() and scan_element(). */
enum scan_step { SCAN_BAD = -1, SCAN_END = 0, SCAN_FOUND = 1 };

/* Enters an object or array. Returns false if `value` does not begin with `bracket`. */
bool scan_open(struct scan_span value, char bracket, struct scan_cursor *cursor);

/* Reads the next member of an object: its key without quotes (escapes unchanged) and its value as
 * text. SCAN_END after the last one. */
enum scan_step scan_member(struct scan_cursor *cursor, struct scan_span *key,
                           struct scan_span *value);

/* Reads the next element of an array. */
enum scan_step scan_element(struct scan_cursor *cursor, struct scan_span *value);

/* Returns true if only blanks follow the closing bracket. */
bool scan_at_end(struct scan_cursor *cursor);

/* Returns the position after the value at `at`, without checking the value; NULL if it does not end
 * before `end`. */
const char *scan_skip(const char *at, const char *end);

/* Returns the value of `name` in an object; no span if absent. */
struct scan_span scan_get(struct scan_span object, const char *name);

/* Returns a string without its quotes, escapes unchanged; no span for other values. */
struct scan_span scan_string(struct scan_span value);

/* Reads a number times 10^scale (0 to 9), rounded to the nearest integer. Returns false if it is
 * not a number or does not fit. */
bool scan_decimal(struct scan_span value, int scale, int64_t *result);

/* Reads any JSON number. Returns false if it is not one. */
bool scan_double(struct scan_span value, double *result);

/*
 * Appends a string's text (as scan_string() gives it) as UTF-8. Lone
 * surrogates and broken escapes become U+FFFD.
 */
void scan_unescape(struct scan_span string, struct buf *text);

/* Reads the UTF-16 unit of four hex digits at `at`; false if there are fewer. */
bool scan_hex_unit(const char *at, const char *end, uint32_t *unit);

/* For text that is longer than its end. */
static inline bool scan_ends(struct scan_span span, const char *end)
{
    size_t length = strlen(end);

    return span.length > length && memcmp(span.at + span.length - length, end, length) == 0;
}

/* Both lengths are strlen()'s, so that a literal is compared in place, without calls. */
__attribute__((always_inline)) static inline bool scan_is(struct scan_span span, const char *text)
{
    return span.at != NULL && span.length == strlen(text) &&
           memcmp(span.at, text, strlen(text)) == 0;
}

#endif
