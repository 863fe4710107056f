/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/runtime/callee.h"

#include <ctype.h>
#include <string.h>

static bool ends_with(const char *text, const char *end)
{
    const size_t length = strlen(text), end_length = strlen(end);

    return length >= end_length && strcmp(text + length - end_length, end) == 0;
}

static bool is_name_byte(char byte)
{
    return isalnum((unsigned char)byte) || byte == '_' || byte == '$' || (byte & 0x80) != 0;
}

/* Words that a parenthesis follows without being called. */
static bool is_keyword(const char *name, size_t length)
{
    static const char *const keywords[] = {
        "if",       "for", "while", "switch", "catch",  "return", "typeof", "await", "void",
        "function", "of",  "in",    "case",   "delete", "throw",  "yield",  "async", "new"};

    for (size_t i = 0; i < sizeof keywords / sizeof *keywords; i++) {
        if (strlen(keywords[i]) == length && memcmp(keywords[i], name, length) == 0)
            return true;
    }
    return false;
}

/* Behind the name that begins here: "a.b", "a?.b", "#a". */
static const char *skip_name(const char *at)
{
    while (is_name_byte(*at) || *at == '.' || (*at == '?' && at[1] == '.'))
        at++;
    return at;
}

/* Behind a text in quotes, or the line's end. */
static const char *skip_quoted(const char *at)
{
    const char quote = *at++;

    while (*at != '\0' && *at != quote)
        at += *at == '\\' && at[1] != '\0' ? 2 : 1;
    return *at == quote ? at + 1 : at;
}

static bool has_name(const struct buf *names, size_t start, const char *name, size_t length)
{
    for (size_t at = start; at + length <= names->length; at++) {
        if (memcmp(names->data + at, name, length) == 0 &&
            (at == start || names->data[at - 1] == ' ') &&
            (at + length == names->length || names->data[at + length] == ' '))
            return true;
    }
    return false;
}

static void callee_add(struct buf *callee, size_t start, const char *name, size_t length)
{
    if (is_keyword(name, length) || has_name(callee, start, name, length))
        return;
    if (callee->length > start)
        buf_append_string(callee, " or ");
    buf_append(callee, name, length);
}

/* A name with a parenthesis behind it, unless it is being defined. */
static const char *take_name(const char *at, bool defined, struct buf *callee, size_t start)
{
    const char *end = skip_name(at), *next = end;

    while (*next == ' ')
        next++;
    if (*next == '(' && !defined)
        callee_add(callee, start, at, (size_t)(end - at));
    return end;
}

bool callee_find(const char *problem, const char *line, struct buf *callee)
{
    const size_t start = callee->length;
    bool defined = false;

    if (problem == NULL || line == NULL ||
        (!ends_with(problem, ": no function") && !ends_with(problem, ": no constructor")))
        return false;
    for (const char *at = line; *at != '\0' && strncmp(at, "//", 2) != 0;) {
        if (*at == '"' || *at == '\'' || *at == '`') {
            at = skip_quoted(at);
        } else if (is_name_byte(*at)) {
            const char *name = at;

            at = take_name(at, defined, callee, start);
            defined = at - name == 8 && memcmp(name, "function", 8) == 0;
        } else {
            at++;
        }
    }
    return !buf_failed(callee) && callee->length > start;
}
