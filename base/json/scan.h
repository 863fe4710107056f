/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_BASE_JSON_SCAN_H
#define GASPIPE_BASE_JSON_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/buf.h"

/*
 * Finds values in JSON text without building a tree of it.
 *
 * A slog line holds a few short fields that matter and long ones that seldom
 * do. This scanner goes over the long ones 64 bytes at a time and looks only
 * for their end. It checks that brackets and quotes close, not what stands
 * between them, and takes what JSON.stringify writes and strict parsers refuse:
 * \u0000, lone surrogates, numbers of any size.
 *
 * Text is borrowed and never changed. Since whole blocks are loaded,
 * SCAN_PADDING bytes behind the text's end must be readable; what they hold
 * does not matter.
 */
enum { SCAN_PADDING = 64 };

/* Windows puts these bytes before a text; JSON has no place for them. */
#define SCAN_BOM     "\xef\xbb\xbf"
#define SCAN_BOM_WHY "begins with a byte order mark (BOM); save the file as UTF-8 without one"

static inline bool scan_has_bom(const char *text, size_t length)
{
    return length >= sizeof SCAN_BOM - 1 && memcmp(text, SCAN_BOM, sizeof SCAN_BOM - 1) == 0;
}

/* A piece of text; at == NULL: there is none. */
struct scan_span {
    const char *at;
    size_t length;
};

/* What is left to read of an array or object; at points into it. */
struct scan_cursor {
    const char *at;
    const char *end;
};

/* What scan_member() and scan_element() found. */
enum scan_step { SCAN_BAD = -1, SCAN_END = 0, SCAN_FOUND = 1 };

/* Enters an object or array. False when `value` does not begin with `bracket`. */
bool scan_open(struct scan_span value, char bracket, struct scan_cursor *cursor);

/*
 * The next member of an object: its key without quotes (escapes as they are),
 * and its value as text. SCAN_END behind the last one.
 */
enum scan_step scan_member(struct scan_cursor *cursor, struct scan_span *key,
                           struct scan_span *value);

/* The next element of an array. */
enum scan_step scan_element(struct scan_cursor *cursor, struct scan_span *value);

/* Whether nothing but blanks is left behind the closing bracket. */
bool scan_at_end(struct scan_cursor *cursor);

/*
 * Behind the value that begins at `at`, of which nothing is looked at but where it
 * ends; NULL when it does not end before `end`.
 */
const char *scan_skip(const char *at, const char *end);

/* The value of `name` in an object; no span when there is none. */
struct scan_span scan_get(struct scan_span object, const char *name);

/* A string without its quotes, escapes as they are; no span for other values. */
struct scan_span scan_string(struct scan_span value);

/*
 * A number times 10^scale (0 to 9), rounded to the nearest integer. False when
 * it is no number or does not fit.
 */
bool scan_decimal(struct scan_span value, int scale, int64_t *result);

/* Any JSON number. False when it is none. */
bool scan_double(struct scan_span value, double *result);

/*
 * Appends a string's text (as scan_string() gives it) as UTF-8. Lone
 * surrogates and broken escapes become U+FFFD.
 */
void scan_unescape(struct scan_span string, struct buf *text);

/* The UTF-16 unit whose four hex digits stand at `at`; false when there are not four. */
bool scan_hex_unit(const char *at, const char *end, uint32_t *unit);

/* Both lengths are strlen()'s, so that a literal is compared in place, without calls. */
__attribute__((always_inline)) static inline bool scan_is(struct scan_span span, const char *text)
{
    return span.at != NULL && span.length == strlen(text) &&
           memcmp(span.at, text, strlen(text)) == 0;
}

#endif
