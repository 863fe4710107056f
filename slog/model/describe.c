/* SPDX-License-Identifier: Apache-2.0 */
#include "slog/model/describe.h"

/* The method's name is at the beginning of a body, which can be megabytes long. */
enum { METHOD_WITHIN = 4096 };

/* ---- strings ------------------------------------------------------------ */

/* Length of the UTF-8 sequence that begins with `lead`; 0 if none does. */
static size_t utf8_sequence_length(unsigned char lead)
{
    if (lead < 0x80)
        return 1;
    if (lead >= 0xc2 && lead < 0xe0)
        return 2;
    if (lead >= 0xe0 && lead < 0xf0)
        return 3;
    return lead >= 0xf0 && lead < 0xf5 ? 4 : 0;
}

/*
 * The length of the character at `at` if it can be shown: well-formed UTF-8 (RFC 3629), no
 * surrogate, no C0 or C1 control. Else 0.
 */
static size_t showable(const char *at, const char *end)
{
    const unsigned char *bytes = (const unsigned char *)at;
    size_t length = utf8_sequence_length(bytes[0]);

    if (length == 0 || (size_t)(end - at) < length)
        return 0;
    for (size_t i = 1; i < length; i++) {
        if ((bytes[i] & 0xc0) != 0x80)
            return 0;
    }
    if (length == 1)
        return bytes[0] >= 0x20 && bytes[0] != 0x7f;
    if ((bytes[0] == 0xc2 && bytes[1] < 0xa0) || (bytes[0] == 0xe0 && bytes[1] < 0xa0) ||
        (bytes[0] == 0xed && bytes[1] > 0x9f) || (bytes[0] == 0xf0 && bytes[1] < 0x90) ||
        (bytes[0] == 0xf4 && bytes[1] > 0x8f))
        return 0;
    return length;
}

static void append_showable(const char *at, size_t length, struct buf *text)
{
    const char *end = at + length, *plain = at;

    while (at < end) {
        size_t step = showable(at, end);

        if (step > 0) {
            at += step;
            continue;
        }
        buf_append(text, plain, (size_t)(at - plain));
        buf_append_string(text, "\xef\xbf\xbd");
        plain = ++at;
    }
    if (end > plain)
        buf_append(text, plain, (size_t)(end - plain));
}

void describe_string(struct scan_span string, struct buf *text)
{
    struct buf plain = {0};

    if (string.at == NULL)
        return;
    if (memchr(string.at, '\\', string.length) == NULL) {
        append_showable(string.at, string.length, text);
        return;
    }
    scan_unescape(string, &plain);
    if (buf_failed(&plain))
        text->failed = true;
    else
        append_showable(plain.data, plain.length, text);
    buf_free(&plain);
}

/* A string in full; other values as they are; `?` if absent. */
static void append_words_of_value(struct scan_span value, struct buf *text)
{
    struct scan_span string = scan_string(value);

    if (string.at != NULL)
        describe_string(string, text);
    else if (value.at != NULL)
        append_showable(value.at, value.length, text);
    else
        buf_append_byte(text, '?');
}

/* ---- methods ------------------------------------------------------------ */

/*
 * A method in the old encoding (@qclass objects) or in smallcaps (a leading character between !
 * and -): a name, a symbol, or undefined.
 */
static void append_method(struct scan_span value, struct buf *text)
{
    struct scan_span string = scan_string(value);

    if (string.at != NULL && scan_is(string, "#undefined"))
        return;
    if (string.at != NULL) {
        if (string.length > 0 && string.at[0] == '!')
            string = (struct scan_span){string.at + 1, string.length - 1};
        describe_string(string, text);
        return;
    }
    if (scan_is(scan_string(scan_get(value, "@qclass")), "undefined"))
        return;
    append_words_of_value(scan_get(value, "name"), text);
}

/* The body is an array that begins with the method; a leading `#` marks smallcaps. */
static void append_method_of_json(struct buf *json, struct buf *text)
{
    struct scan_cursor cursor;
    struct scan_span method;
    size_t skip;

    buf_reserve(json, SCAN_PADDING);
    if (buf_failed(json)) {
        text->failed = true;
        return;
    }
    skip = json->length > 0 && json->data[0] == '#';
    if (scan_open((struct scan_span){json->data + skip, json->length - skip}, '[', &cursor) &&
        scan_element(&cursor, &method) == SCAN_FOUND)
        append_method(method, text);
    else
        buf_append_byte(text, '?');
}

static void append_method_of_body(struct scan_span body, struct buf *text)
{
    struct buf json = {0};

    if (body.length > METHOD_WITHIN)
        body.length = METHOD_WITHIN;
    scan_unescape(body, &json);
    append_method_of_json(&json, text);
    buf_free(&json);
}

void describe_method_in_body(const char *body, size_t length, struct buf *text)
{
    struct buf json = {0};

    buf_append(&json, body, length > METHOD_WITHIN ? METHOD_WITHIN : length);
    append_method_of_json(&json, text);
    buf_free(&json);
}

void describe_method(struct scan_span message, struct buf *text)
{
    struct scan_span body = scan_string(scan_get(scan_get(message, "methargs"), "body"));
    struct scan_span method;

    if (body.at != NULL) {
        append_method_of_body(body, text);
        return;
    }
    /* Older messages have a member `method` instead of methargs. */
    method = scan_get(message, "method");
    append_words_of_value(method, text);
}

/* ---- deliveries and syscalls -------------------------------------------- */

/* A VatDeliveryObject or VatSyscallObject: its kind and the next two values. */
struct object {
    struct scan_span kind, first, second;
};

static struct object open_object(struct scan_span json)
{
    struct object object = {0};
    struct scan_cursor cursor;
    struct scan_span kind;

    if (!scan_open(json, '[', &cursor) || scan_element(&cursor, &kind) != SCAN_FOUND)
        return object;
    object.kind = scan_string(kind);
    if (scan_element(&cursor, &object.first) == SCAN_FOUND)
        scan_element(&cursor, &object.second);
    return object;
}

struct scan_span describe_kind(struct scan_span object)
{
    struct scan_cursor cursor;
    struct scan_span kind;

    if (!scan_open(object, '[', &cursor) || scan_element(&cursor, &kind) != SCAN_FOUND)
        return (struct scan_span){0};
    return scan_string(kind);
}

static void append_message(struct scan_span target, struct scan_span message, struct buf *text)
{
    size_t before;

    buf_append_byte(text, '(');
    append_words_of_value(target, text);
    buf_append_byte(text, ')');
    before = text->length;
    buf_append_byte(text, '.');
    describe_method(message, text);
    if (!buf_failed(text) && text->length == before + 1) {
        text->length = before;
        buf_append(text, "()", 2);
    }
    buf_append(text, " -> ", 4);
    append_words_of_value(scan_get(message, "result"), text);
}

/* Appends [[promise, rejected, data], …] as `promise,!promise`. */
static void append_resolutions(struct scan_span resolutions, struct buf *text)
{
    struct scan_cursor cursor, inner;
    struct scan_span resolution, promise, rejected;
    const char *separator = "";

    if (!scan_open(resolutions, '[', &cursor))
        return;
    while (scan_element(&cursor, &resolution) == SCAN_FOUND) {
        buf_append_string(text, separator);
        separator = ",";
        if (!scan_open(resolution, '[', &inner) || scan_element(&inner, &promise) != SCAN_FOUND) {
            buf_append_byte(text, '?');
            continue;
        }
        if (scan_element(&inner, &rejected) == SCAN_FOUND && scan_is(rejected, "true"))
            buf_append_byte(text, '!');
        append_words_of_value(promise, text);
    }
}

static void append_list(struct scan_span list, struct buf *text)
{
    struct scan_cursor cursor;
    struct scan_span element;
    const char *separator = "";

    if (!scan_open(list, '[', &cursor))
        return;
    while (scan_element(&cursor, &element) == SCAN_FOUND) {
        buf_append_string(text, separator);
        separator = ",";
        append_words_of_value(element, text);
    }
}

void describe_delivered_method(struct scan_span vd, struct buf *text)
{
    const struct object object = open_object(vd);

    if (scan_is(object.kind, "message"))
        describe_method(object.second, text);
}

/* The text of an array after its first element. */
static struct scan_span after_first_element(struct scan_span array)
{
    struct scan_span element, rest = {0};
    struct scan_cursor cursor;
    const char *end;

    if (!scan_open(array, '[', &cursor) || scan_element(&cursor, &element) != SCAN_FOUND)
        return rest;
    rest.at = element.at + element.length;
    end = array.at + array.length - 1;
    while (rest.at < end && (*rest.at == ',' || *rest.at == ' '))
        rest.at++;
    rest.length = rest.at < end ? (size_t)(end - rest.at) : 0;
    return rest;
}

struct scan_span describe_words(struct scan_span object)
{
    const struct object open = open_object(object);
    struct scan_span body = {0};

    if (scan_is(open.kind, "message") || scan_is(open.kind, "send"))
        body = scan_string(scan_get(scan_get(open.second, "methargs"), "body"));
    return body.at != NULL ? body : after_first_element(object);
}

void describe_delivery(struct scan_span vd, struct buf *text)
{
    struct object object = open_object(vd);

    if (scan_is(object.kind, "message")) {
        append_message(object.first, object.second, text);
    } else if (scan_is(object.kind, "notify")) {
        buf_append_string(text, "notify ");
        append_resolutions(object.first, text);
    } else {
        describe_string(object.kind, text);
    }
}

static bool takes_list(struct scan_span kind)
{
    return scan_is(kind, "dropImports") || scan_is(kind, "retireImports") ||
           scan_is(kind, "retireExports");
}

void describe_syscall(struct scan_span vsc, struct buf *text)
{
    struct object object = open_object(vsc);

    if (scan_is(object.kind, "send")) {
        append_message(object.first, object.second, text);
    } else if (scan_is(object.kind, "callNow")) {
        buf_append(text, "D(", 2);
        append_words_of_value(object.first, text);
        buf_append(text, ").", 2);
        append_words_of_value(object.second, text);
    } else if (scan_is(object.kind, "resolve")) {
        buf_append_string(text, "resolve ");
        append_resolutions(object.first, text);
    } else if (scan_is(object.kind, "subscribe")) {
        buf_append_string(text, "subscribe(");
        append_words_of_value(object.first, text);
        buf_append_byte(text, ')');
    } else if (takes_list(object.kind)) {
        describe_string(object.kind, text);
        buf_append_byte(text, '(');
        append_list(object.first, text);
        buf_append_byte(text, ')');
    } else {
        describe_string(object.kind, text);
    }
}

/* ---- names ------------------------------------------------------------ */

/* True if the name can be shown as it is, as nearly all. */
static bool is_plain(struct scan_span string)
{
    for (size_t i = 0; i < string.length; i++) {
        if (string.at[i] < 0x20 || string.at[i] > 0x7e || string.at[i] == '\\')
            return false;
    }
    return true;
}

static uint32_t intern_clean(struct names *names, struct scan_span string)
{
    struct buf clean = {0};
    uint32_t number = NAMES_NONE;

    describe_string(string, &clean);
    if (!buf_failed(&clean))
        number = names_intern(names, clean.data, clean.length);
    buf_free(&clean);
    return number;
}

/* Called about twice for each line, so recent names are not decoded again. */
uint32_t describe_intern(struct names *names, struct scan_span string)
{
    uint32_t number = names_recall(names, string.at, string.length);

    if (number != NAMES_NONE)
        return number;
    number = is_plain(string) ? names_intern(names, string.at, string.length)
                              : intern_clean(names, string);
    if (number != NAMES_NONE)
        names_remember(names, string.at, string.length, number);
    return number;
}
