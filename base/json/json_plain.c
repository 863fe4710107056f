/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json/json_plain.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/buf.h"

enum { DEPTH_MAX = 64, DIGITS_MAX = 18 };

struct plain {
    const char *at, *end;
    size_t flags;
    int depth;
    struct buf unescaped;
};

static json_t *read_plain(struct plain *plain);

static void skip_blanks(struct plain *plain)
{
    while (plain->at < plain->end &&
           (*plain->at == ' ' || *plain->at == '\n' || *plain->at == '\r' || *plain->at == '\t'))
        plain->at++;
}

/* Behind blanks, and the blanks behind it too. */
static bool skip_mark(struct plain *plain, char mark)
{
    if (plain->at == plain->end || *plain->at != mark)
        return false;
    plain->at++;
    skip_blanks(plain);
    return true;
}

/* What a backslash and this stand for; '\0': it is not plain. */
static char escaped(char letter)
{
    static const char letters[] = "\"\\/bfnrt", bytes[] = "\"\\/\b\f\n\r\t";
    const char *found = letter != '\0' ? strchr(letters, letter) : NULL;

    return found != NULL ? bytes[found - letters] : '\0';
}

/* Behind its first quote: the end of the string, at its other quote; NULL: it is not plain. */
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
            /* A quote behind it is not the end. */
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

static json_t *read_string(struct plain *plain)
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
    skip_blanks(plain);
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
    skip_blanks(plain);
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

/* With the blanks behind it; NULL: it is not plain. */
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
        value = read_string(plain);
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
    skip_blanks(plain);
    return value;
}

json_t *json_plain_read(const char *text, size_t length, size_t flags)
{
    const size_t known = JSON_DECODE_ANY | JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL;
    struct plain plain = {.at = text, .end = text + length, .flags = flags};
    json_t *value = NULL;

    if (length == 0 || (flags & ~known) != 0)
        return NULL;
    skip_blanks(&plain);
    if ((flags & JSON_DECODE_ANY) != 0 ||
        (plain.at < plain.end && (*plain.at == '[' || *plain.at == '{')))
        value = read_plain(&plain);
    buf_free(&plain.unescaped);
    if (value == NULL || plain.at == plain.end)
        return value;
    json_decref(value);
    return NULL;
}
