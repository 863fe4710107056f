/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json/json_value.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/json/json_text.h"
#include "base/json/scan.h"

static const char mark[] = "\xef\xbf\xbe";  /* U+FFFE, which is not a character */
static const char nul[] = "\xe1\x80\x80";   /* U+1000, after a mark */
static const char shown[] = "\xef\xbf\xbd"; /* U+FFFD, the replacement character */

enum {
    MARK_SIZE = sizeof mark - 1,
    MARKED_SIZE = 2 * MARK_SIZE, /* the mark and what follows it */
    SHORT_ESCAPE = 2,            /* \n */
    UNIT_ESCAPE = 6,             /* \uXXXX */
    REAL_SIZE = 64,              /* a number's text is shorter */
};

/* ---- the escapes of a text ---- */

struct escape {
    size_t length;
    uint32_t unit; /* the UTF-16 unit of an unpaired \uXXXX; 0: jansson accepts the escape */
};

static bool is_half(uint32_t unit)
{
    return (unit & 0xf800) == 0xd800;
}

/* Reads the unit of \uXXXX at `at`; false if there is no such escape. */
static bool read_unit(const char *at, const char *end, uint32_t *unit)
{
    *unit = 0;
    if (end - at < UNIT_ESCAPE || at[0] != '\\' || at[1] != 'u')
        return false;
    for (int i = 2; i < UNIT_ESCAPE; i++) {
        char digit = at[i];
        char letter = (char)(digit | 0x20);

        if (digit >= '0' && digit <= '9')
            *unit = *unit << 4 | (uint32_t)(digit - '0');
        else if (letter >= 'a' && letter <= 'f')
            *unit = *unit << 4 | (uint32_t)(letter - 'a' + 10);
        else
            return false;
    }
    return true;
}

/* Reads the escape whose backslash is at `at`. jansson rejects invalid ones. */
static struct escape read_escape(const char *at, const char *end)
{
    uint32_t unit, second;

    if (!read_unit(at, end, &unit))
        return (struct escape){.length = end - at < SHORT_ESCAPE ? 1 : SHORT_ESCAPE};
    if ((unit & 0xfc00) == 0xd800 && read_unit(at + UNIT_ESCAPE, end, &second) &&
        (second & 0xfc00) == 0xdc00)
        return (struct escape){.length = (size_t)2 * UNIT_ESCAPE};
    return (struct escape){.length = UNIT_ESCAPE, .unit = unit};
}

static bool wants_mark(struct escape escape)
{
    return is_half(escape.unit) || escape.unit == 0xfffe;
}

static bool wants_marks(const char *text, size_t length)
{
    const char *end = text + length, *at = text;

    while ((at = memchr(at, '\\', (size_t)(end - at))) != NULL) {
        struct escape escape = read_escape(at, end);

        if (wants_mark(escape))
            return true;
        at += escape.length;
    }
    return false;
}

/* ---- marking ---- */

/* A mark is as long as its escape, so that offsets in the text stay. */
static void append_marked(struct buf *marked, uint32_t unit)
{
    const char half[] = {(char)0xe0, (char)(0xa0 | (unit >> 6 & 0x1f)),
                         (char)(0x80 | (unit & 0x3f)), '\0'};

    buf_append(marked, mark, MARK_SIZE);
    buf_append(marked, is_half(unit) ? half : mark, MARK_SIZE);
}

/* Most texts have no byte that begins a mark; searching for that byte alone is the fastest way. */
static const char *find_mark(const char *at, const char *end)
{
    while ((at = memchr(at, mark[0], (size_t)(end - at))) != NULL) {
        if (end - at >= MARK_SIZE && memcmp(at, mark, MARK_SIZE) == 0)
            return at;
        at++;
    }
    return NULL;
}

static void append_doubled(struct buf *marked, const char *at, const char *end)
{
    const char *found;

    while ((found = find_mark(at, end)) != NULL) {
        buf_append(marked, at, (size_t)(found - at));
        append_marked(marked, 0xfffe);
        at = found + MARK_SIZE;
    }
    buf_append(marked, at, (size_t)(end - at));
}

/* `inner`: the text's own characters are marked already. */
static void mark_text(struct buf *marked, const char *text, size_t length, bool inner)
{
    const char *end = text + length, *escape_at = text;

    while (text < end) {
        struct escape escape = {0};

        escape_at = memchr(escape_at, '\\', (size_t)(end - escape_at));
        if (escape_at != NULL)
            escape = read_escape(escape_at, end);
        else
            escape_at = end;
        if (escape_at < end && !wants_mark(escape)) {
            escape_at += escape.length;
            continue;
        }
        if (inner)
            buf_append(marked, text, (size_t)(escape_at - text));
        else
            append_doubled(marked, text, escape_at);
        if (escape_at < end)
            append_marked(marked, escape.unit);
        escape_at += escape.length;
        text = escape_at;
    }
}

/* ---- reading ---- */

static bool has_too_many_values(const char *text, size_t length, json_error_t *problem)
{
    if (!json_nodes_exceed(text, length, JSON_NODES_MAX))
        return false;
    if (problem != NULL) {
        *problem = (json_error_t){.line = 1};
        snprintf(problem->text, sizeof problem->text, "more than %d values", (int)JSON_NODES_MAX);
    }
    return true;
}

static json_t *read_marked(const char *text, size_t length, bool inner, size_t flags,
                           json_error_t *problem)
{
    struct buf marked = {0};
    json_t *value = NULL;

    mark_text(&marked, text, length, inner);
    if (!buf_failed(&marked))
        value = json_loadb(marked.data, marked.length, flags, problem);
    else if (problem != NULL)
        *problem = (json_error_t){.text = "not enough memory"};
    buf_free(&marked);
    return value;
}

static bool begins_with_bom(const char *text, size_t length, json_error_t *problem)
{
    if (!scan_has_bom(text, length))
        return false;
    if (problem != NULL)
        *problem = (json_error_t){.line = 1, .text = SCAN_BOM_WHY};
    return true;
}

json_t *json_value_read(const char *text, size_t length, size_t flags, json_error_t *problem)
{
    json_t *value;

    if (begins_with_bom(text, length, problem))
        return NULL;
    if (has_too_many_values(text, length, problem))
        return NULL;
    value = json_plain_read(text, length, flags);
    if (value != NULL)
        return value;
    if (length == 0 || (!wants_marks(text, length) && find_mark(text, text + length) == NULL))
        return json_loadb(text, length, flags, problem);
    return read_marked(text, length, false, flags, problem);
}

json_t *json_value_read_inner(const char *string, size_t length, size_t flags)
{
    json_t *value;

    if (has_too_many_values(string, length, NULL))
        return NULL;
    value = json_plain_read(string, length, flags);
    if (value != NULL)
        return value;
    if (length == 0 || !wants_marks(string, length))
        return json_loadb(string, length, flags, NULL);
    return read_marked(string, length, true, flags, NULL);
}

/* ---- writing ---- */

/* Returns the length of the mark at `at` with its unit, which goes to *unit. A U+FFFE that no unit
 * follows was not read from JSON and is an ordinary character. */
static size_t read_mark(const char *at, const char *end, uint32_t *unit)
{
    const unsigned char *next = (const unsigned char *)at + MARK_SIZE;

    *unit = 0xfffe;
    if (end - at < MARKED_SIZE)
        return MARK_SIZE;
    if (next[0] == 0xe0)
        *unit = 0xd000U | (next[1] & 0x3fU) << 6 | (next[2] & 0x3fU);
    else if (memcmp(next, nul, MARK_SIZE) == 0)
        *unit = 0;
    else if (memcmp(next, mark, MARK_SIZE) != 0)
        return MARK_SIZE;
    return MARKED_SIZE;
}

void json_value_write_string(struct buf *buf, const char *string, size_t length)
{
    const char *end = string + length, *at;
    uint32_t unit;

    if (buf_reserve(buf, length + 2) != 0)
        return;
    buf_append_byte(buf, '"');
    while (string < end && (at = find_mark(string, end)) != NULL) {
        json_text_escape(buf, string, (size_t)(at - string));
        string = at + read_mark(at, end, &unit);
        buf_printf(buf, "\\u%04x", unit);
    }
    json_text_escape(buf, string, (size_t)(end - string));
    buf_append_byte(buf, '"');
}

static void write_value(struct buf *buf, json_t *value);

static void write_array(struct buf *buf, const json_t *array)
{
    json_t *element;
    size_t i;

    buf_append_byte(buf, '[');
    json_array_foreach(array, i, element)
    {
        if (i > 0)
            buf_append_byte(buf, ',');
        write_value(buf, element);
    }
    buf_append_byte(buf, ']');
}

static void write_object(struct buf *buf, json_t *object)
{
    buf_append_byte(buf, '{');
    for (void *member = json_object_iter(object); member != NULL;) {
        json_value_write_string(buf, json_object_iter_key(member),
                                json_object_iter_key_len(member));
        buf_append_byte(buf, ':');
        write_value(buf, json_object_iter_value(member));
        member = json_object_iter_next(object, member);
        if (member != NULL)
            buf_append_byte(buf, ',');
    }
    buf_append_byte(buf, '}');
}

static void write_other(struct buf *buf, const json_t *value)
{
    char text[REAL_SIZE];

    buf_append(buf, text, json_dumpb(value, text, sizeof text, JSON_ENCODE_ANY));
}

/* Recursion is as deep as jansson reads, 2048. */
static void write_value(struct buf *buf, json_t *value)
{
    if (json_is_string(value))
        json_value_write_string(buf, json_string_value(value), json_string_length(value));
    else if (json_is_array(value))
        write_array(buf, value);
    else if (json_is_object(value))
        write_object(buf, value);
    else if (json_is_integer(value))
        json_text_integer(buf, json_integer_value(value));
    else
        write_other(buf, value);
}

int json_value_write(struct buf *buf, const json_t *value)
{
    if (value == NULL)
        return -1;
    write_value(buf, (json_t *)(uintptr_t)value);
    return buf_failed(buf) ? -1 : 0;
}

/* ---- strings for C and for display ---- */

/* Appends the string with `instead` for each '\0'. */
static void append_without_nul(struct buf *buf, const char *string, size_t length,
                               const char *instead)
{
    const char *end = string + length, *at;

    while (string < end && (at = memchr(string, '\0', (size_t)(end - string))) != NULL) {
        buf_append(buf, string, (size_t)(at - string));
        buf_append_string(buf, instead);
        string = at + 1;
    }
    buf_append(buf, string, (size_t)(end - string));
}

void json_value_c_string(struct buf *buf, const char *string, size_t length)
{
    append_without_nul(buf, string, length, "\xef\xbf\xbe\xe1\x80\x80");
}

void json_value_show_string(struct buf *buf, const char *string, size_t length)
{
    const char *end = string + length, *at;
    uint32_t unit;

    while (string < end && (at = find_mark(string, end)) != NULL) {
        append_without_nul(buf, string, (size_t)(at - string), shown);
        string = at + read_mark(at, end, &unit);
        buf_append_string(buf, shown);
    }
    append_without_nul(buf, string, (size_t)(end - string), shown);
}

/* Returns the position after the string whose quotation mark is at `at`. */
static const char *skip_string(const char *at, const char *end)
{
    for (at++; at < end && *at != '"'; at++)
        if (*at == '\\')
            at++;
    return at < end ? at + 1 : end;
}

/* Each value but the first follows a bracket or a comma; empty brackets count one too many. */
bool json_nodes_exceed(const char *text, size_t length, size_t most)
{
    const char *end = text + length;
    size_t nodes = 1;

    /* A value and its comma are two bytes. */
    if (length / 2 < most)
        return false;
    while (text < end && nodes <= most) {
        if (*text == '"') {
            text = skip_string(text, end);
            continue;
        }
        nodes += *text == '[' || *text == '{' || *text == ',';
        text++;
    }
    return nodes > most;
}

enum { DEPTH_MAX = 64, DIGITS_MAX = 18 };

struct plain {
    const char *at, *end;
    size_t flags;
    int depth;
    struct buf unescaped;
};

static json_t *read_plain(struct plain *plain);

static void skip_plain_blanks(struct plain *plain)
{
    while (plain->at < plain->end &&
           (*plain->at == ' ' || *plain->at == '\n' || *plain->at == '\r' || *plain->at == '\t'))
        plain->at++;
}

/* Skips the byte, and the blanks around it. */
static bool skip_mark(struct plain *plain, char byte)
{
    if (plain->at == plain->end || *plain->at != byte)
        return false;
    plain->at++;
    skip_plain_blanks(plain);
    return true;
}

/* The byte that a backslash and this letter stand for; '\0' if the text is not plain. */
static char escaped(char letter)
{
    static const char letters[] = "\"\\/bfnrt", bytes[] = "\"\\/\b\f\n\r\t";
    const char *found = letter != '\0' ? strchr(letters, letter) : NULL;

    return found != NULL ? bytes[found - letters] : '\0';
}

/* Finds the closing quote of the string whose text begins here; NULL if it is not plain. */
static const char *find_end(const struct plain *plain, bool *has_escapes)
{
    *has_escapes = false;
    for (const char *at = plain->at; at < plain->end; at++) {
        if (*at == '"')
            return at;
        if ((unsigned char)*at < 0x20 || (unsigned char)*at >= 0x80)
            return NULL;
        if (*at == '\\') {
            *has_escapes = true;
            /* An escaped quote does not end the string. */
            if (++at == plain->end)
                return NULL;
        }
    }
    return NULL;
}

static bool unescape(struct buf *text, const char *at, const char *end)
{
    buf_clear(text);
    while (at < end) {
        const char *backslash = memchr(at, '\\', (size_t)(end - at));
        const char *until = backslash != NULL ? backslash : end;
        char byte;

        buf_append(text, at, (size_t)(until - at));
        if (backslash == NULL)
            break;
        byte = escaped(backslash[1]); /* there is a quote at the end at least */
        if (byte == '\0')
            return false;
        buf_append_byte(text, byte);
        at = backslash + 2;
    }
    return !buf_failed(text);
}

static json_t *read_plain_string(struct plain *plain)
{
    bool has_escapes;
    const char *begin = ++plain->at, *end = find_end(plain, &has_escapes);

    if (end == NULL)
        return NULL;
    plain->at = end + 1;
    if (!has_escapes)
        return json_stringn_nocheck(begin, (size_t)(end - begin));
    if (!unescape(&plain->unescaped, begin, end))
        return NULL;
    return json_stringn_nocheck(plain->unescaped.data, plain->unescaped.length);
}

static json_t *read_integer(struct plain *plain)
{
    const bool negative = *plain->at == '-';
    const char *begin = plain->at += negative;
    int64_t number = 0;

    while (plain->at < plain->end && *plain->at >= '0' && *plain->at <= '9')
        if (plain->at - begin < DIGITS_MAX)
            number = number * 10 + (*plain->at++ - '0');
        else
            return NULL;
    if (plain->at == begin || (*begin == '0' && plain->at - begin > 1))
        return NULL;
    return json_integer(negative ? -number : number);
}

static json_t *read_word(struct plain *plain, const char *word, json_t *value)
{
    const size_t length = strlen(word);

    if ((size_t)(plain->end - plain->at) < length || memcmp(plain->at, word, length) != 0)
        return NULL;
    plain->at += length;
    return value;
}

static bool read_elements(struct plain *plain, json_t *array)
{
    do {
        if (json_array_append_new(array, read_plain(plain)) != 0)
            return false;
    } while (skip_mark(plain, ','));
    return skip_mark(plain, ']');
}

static bool read_member(struct plain *plain, json_t *object)
{
    const char *key = plain->at + 1, *end;
    bool has_escapes;

    if (plain->at == plain->end || *plain->at++ != '"')
        return false;
    end = find_end(plain, &has_escapes);
    if (end == NULL || has_escapes)
        return false;
    plain->at = end + 1;
    skip_plain_blanks(plain);
    if (!skip_mark(plain, ':') || ((plain->flags & JSON_REJECT_DUPLICATES) != 0 &&
                                   json_object_getn(object, key, (size_t)(end - key)) != NULL))
        return false;
    return json_object_setn_new_nocheck(object, key, (size_t)(end - key), read_plain(plain)) == 0;
}

static bool read_members(struct plain *plain, json_t *object)
{
    do {
        if (!read_member(plain, object))
            return false;
    } while (skip_mark(plain, ','));
    return skip_mark(plain, '}');
}

static json_t *read_nested(struct plain *plain, json_t *made, char close,
                           bool (*read)(struct plain *, json_t *))
{
    plain->at++;
    skip_plain_blanks(plain);
    if (made == NULL || plain->depth == DEPTH_MAX)
        goto failed;
    plain->depth++;
    if (!skip_mark(plain, close) && !read(plain, made))
        goto failed;
    plain->depth--;
    return made;
failed:
    json_decref(made);
    return NULL;
}

/* Reads a value and the blanks after it; NULL if it is not plain. */
static json_t *read_plain(struct plain *plain)
{
    json_t *value = NULL;

    if (plain->at == plain->end)
        return NULL;
    switch (*plain->at) {
    case '{':
        return read_nested(plain, json_object(), '}', read_members);
    case '[':
        return read_nested(plain, json_array(), ']', read_elements);
    case '"':
        value = read_plain_string(plain);
        break;
    case 't':
        value = read_word(plain, "true", json_true());
        break;
    case 'f':
        value = read_word(plain, "false", json_false());
        break;
    case 'n':
        value = read_word(plain, "null", json_null());
        break;
    default:
        value = read_integer(plain);
        break;
    }
    skip_plain_blanks(plain);
    return value;
}

json_t *json_plain_read(const char *text, size_t length, size_t flags)
{
    const size_t known = JSON_DECODE_ANY | JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL;
    struct plain plain = {.at = text, .end = text + length, .flags = flags};
    json_t *value = NULL;

    if (length == 0 || (flags & ~known) != 0)
        return NULL;
    skip_plain_blanks(&plain);
    if ((flags & JSON_DECODE_ANY) != 0 ||
        (plain.at < plain.end && (*plain.at == '[' || *plain.at == '{')))
        value = read_plain(&plain);
    buf_free(&plain.unescaped);
    if (value == NULL || plain.at == plain.end)
        return value;
    json_decref(value);
    return NULL;
}
