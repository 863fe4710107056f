/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/near/value.h"

#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#include "base/json/json_text.h"
#include "base/json/json_value.h"

/* ---- smallcaps: what other texts mean there begins with one of these ---- */

static bool needs_escape(const char *text)
{
    return text[0] >= '!' && text[0] < '.';
}

/* The value without its escapes, the caller's; NULL for what is no plain data. */
static json_t *plain(const json_t *value);

static json_t *plain_array(const json_t *value)
{
    json_t *copy = json_array();
    size_t index;
    json_t *item;

    json_array_foreach(value, index, item)
    {
        json_t *part = plain(item);

        if (part == NULL || json_array_append_new(copy, part) != 0) {
            json_decref(copy);
            return NULL;
        }
    }
    return copy;
}

static json_t *plain_object(json_t *value)
{
    json_t *copy = json_object();
    const char *name;
    json_t *item;

    json_object_foreach(value, name, item)
    {
        json_t *part = plain(item);

        if (part == NULL ||
            json_object_set_new(copy, name[0] == '!' ? name + 1 : name, part) != 0) {
            json_decref(copy);
            return NULL;
        }
    }
    return copy;
}

static json_t *plain(const json_t *value)
{
    const char *text = json_string_value(value);

    if (json_is_array(value))
        return plain_array(value);
    if (json_is_object(value))
        return plain_object((json_t *)value);
    if (text == NULL || !needs_escape(text))
        return json_incref((json_t *)value);
    return text[0] == '!' ? json_stringn(text + 1, json_string_length(value) - 1) : NULL;
}

json_t *near_value_read(const json_t *capdata)
{
    const json_t *body = json_object_get(capdata, "body");
    const char *text = json_string_value(body);
    json_t *escaped, *value;

    if (text == NULL || text[0] != '#' || json_array_size(json_object_get(capdata, "slots")) != 0)
        return NULL;
    escaped = json_value_read_inner(text + 1, json_string_length(body) - 1,
                                    JSON_ALLOW_NUL | JSON_DECODE_ANY);
    if (json_is_string(escaped) && strcmp(json_string_value(escaped), "#undefined") == 0)
        value = json_null();
    else
        value = plain(escaped);
    json_decref(escaped);
    return value;
}

/* ---- the other way ---- */

static void escape_strings(struct buf *buf, json_t *value)
{
    size_t index;
    const char *name;
    json_t *item;
    bool is_first = true;

    if (json_is_array(value)) {
        buf_append_byte(buf, '[');
        json_array_foreach(value, index, item)
        {
            buf_append_string(buf, index > 0 ? "," : "");
            escape_strings(buf, item);
        }
        buf_append_byte(buf, ']');
    } else if (json_is_object(value)) {
        buf_append_byte(buf, '{');
        json_object_foreach(value, name, item)
        {
            buf_append_string(buf, is_first ? "\"" : ",\"");
            is_first = false;
            buf_append_string(buf, needs_escape(name) ? "!" : "");
            json_text_escape(buf, name, strlen(name));
            buf_append_string(buf, "\":");
            escape_strings(buf, item);
        }
        buf_append_byte(buf, '}');
    } else if (json_is_string(value) && needs_escape(json_string_value(value))) {
        buf_append_string(buf, "\"!");
        json_text_escape(buf, json_string_value(value), json_string_length(value));
        buf_append_byte(buf, '"');
    } else {
        json_value_write(buf, value);
    }
}

void near_value_write_body(struct buf *buf, json_t *value)
{
    struct buf body = {0};

    buf_append_byte(&body, '#');
    if (value != NULL)
        escape_strings(&body, value);
    else
        buf_append_string(&body, "\"#undefined\"");
    json_text_string(buf, body.data, body.length);
    buf->failed |= buf_failed(&body);
    buf_free(&body);
}

/* ---- bytes ---- */

int near_value_bytes(struct buf *bytes, const json_t *value)
{
    const char *base64 = json_string_value(json_object_get(value, "base64"));

    if (value == NULL || json_is_null(value))
        return 0;
    if (base64 != NULL && json_object_size(value) == 1)
        return near_base64_decode(bytes, base64, strlen(base64));
    if (json_is_string(value))
        return buf_append(bytes, json_string_value(value), json_string_length(value));
    return json_value_write(bytes, value);
}

static json_t *base64_of(const void *bytes, size_t length)
{
    unsigned char *text = malloc(length / 3 * 4 + 5);
    json_t *value = NULL;

    if (text != NULL) {
        EVP_EncodeBlock(text, bytes, (int)length);
        value = json_string((const char *)text);
    }
    free(text);
    return value;
}

/* NULL for what is no text. U+FFFE has a meaning of its own in json_value.h. */
static json_t *value_text_of(const void *bytes, size_t length)
{
    if (length > 0 && memmem(bytes, length, "\xef\xbf\xbe", 3) != NULL)
        return NULL;
    return json_stringn(length > 0 ? bytes : "", length);
}

json_t *near_value_exact(const void *bytes, size_t length)
{
    json_t *text = value_text_of(bytes, length);

    return text != NULL ? text : json_pack("{s:o}", "base64", base64_of(bytes, length));
}

json_t *near_value_shown(const void *bytes, size_t length)
{
    json_t *value = json_value_read(bytes, length, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);

    if (value == NULL)
        value = value_text_of(bytes, length);
    return value != NULL ? value : base64_of(bytes, length);
}

json_t *near_value_of_result(const struct buf *bytes, bool is_exact)
{
    if (is_exact)
        return near_value_exact(bytes->data, bytes->length);
    return bytes->length > 0 ? near_value_shown(bytes->data, bytes->length) : NULL;
}

int near_base64_decode(struct buf *bytes, const char *text, size_t length)
{
    int decoded;

    if (length == 0)
        return 0;
    if (length % 4 != 0 || length > INT32_MAX || buf_reserve(bytes, length / 4 * 3 + 1) != 0)
        return -1;
    decoded = EVP_DecodeBlock((unsigned char *)bytes->data + bytes->length,
                              (const unsigned char *)text, (int)length);
    if (decoded < 0)
        return -1;
    /* It counts the padding in. */
    bytes->length += (size_t)decoded - (text[length - 1] == '=') - (text[length - 2] == '=');
    return 0;
}
