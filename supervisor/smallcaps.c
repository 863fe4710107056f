/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/smallcaps.h"

#include <stdbool.h>
#include <string.h>

#include "base/buf.h"

typedef json_t *text_change(const char *text, size_t length);

static bool is_special(const char *text, size_t length)
{
    return length > 0 && text[0] >= '!' && text[0] <= '-';
}

static json_t *escape_text(const char *text, size_t length)
{
    struct buf escaped = {0};
    json_t *string = NULL;

    if (!is_special(text, length))
        return json_stringn(text, length);
    buf_append_byte(&escaped, '!');
    if (buf_append(&escaped, text, length) == 0)
        string = json_stringn(escaped.data, escaped.length);
    buf_free(&escaped);
    return string;
}

static json_t *unescape_text(const char *text, size_t length)
{
    static const char undefined[] = "#undefined";

    if (length > 0 && (text[0] == '!' || text[0] == '+'))
        return json_stringn(text + 1, length - 1);
    if (length == strlen(undefined) && memcmp(text, undefined, length) == 0)
        return json_null();
    return json_stringn(text, length);
}

static json_t *change(const json_t *value, text_change *change_text);

static json_t *change_array(const json_t *array, text_change *change_text)
{
    json_t *changed = json_array();
    const json_t *element;
    size_t i;

    json_array_foreach(array, i, element)
    {
        if (json_array_append_new(changed, change(element, change_text)) != 0) {
            json_decref(changed);
            return NULL;
        }
    }
    return changed;
}

static int change_member(json_t *changed, const char *key, const json_t *value,
                         text_change *change_text)
{
    json_t *name = change_text(key, strlen(key));
    int result = -1;

    /* A property can be called "#undefined"; its name is no value and stays. */
    if (name != NULL)
        result = json_object_set_new(changed, json_is_string(name) ? json_string_value(name) : key,
                                     change(value, change_text));
    json_decref(name);
    return result;
}

static json_t *change_object(const json_t *object, text_change *change_text)
{
    json_t *changed = json_object();
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)object, key, value)
    {
        if (change_member(changed, key, value, change_text) != 0) {
            json_decref(changed);
            return NULL;
        }
    }
    return changed;
}

static json_t *change(const json_t *value, text_change *change_text)
{
    if (json_is_string(value))
        return change_text(json_string_value(value), json_string_length(value));
    if (json_is_array(value))
        return change_array(value, change_text);
    if (json_is_object(value))
        return change_object(value, change_text);
    return json_incref((json_t *)value);
}

json_t *smallcaps_encode(const json_t *value)
{
    return change(value, escape_text);
}

json_t *smallcaps_decode(const json_t *value)
{
    return change(value, unescape_text);
}
