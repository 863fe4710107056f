/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/schedule/log/smallcaps.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json/json_value.h"

/* How to change the strings of a value, and the objects that stand for something else. */
struct change {
    json_t *(*text)(const char *text, size_t length);
    const struct smallcaps_names *names; /* NULL: objects are objects */
    json_t *slots;
    struct error *error;
};

static bool has_special_prefix(const char *text, size_t length)
{
    return length > 0 && text[0] >= '!' && text[0] <= '-';
}

static json_t *escape_text(const char *text, size_t length)
{
    struct buf escaped = {0};
    json_t *string = NULL;

    if (!has_special_prefix(text, length))
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

/* ---- references and big integers ---- */

static json_t *make_bigint(const char *digits, struct error *error)
{
    const bool negative = digits[0] == '-';
    const char *first = digits + negative;
    struct buf text = {0};
    json_t *string;

    if (*first == '\0' || first[strspn(first, "0123456789")] != '\0') {
        error_set(error, ERROR_INPUT, "\"@bigint\" takes decimal digits, not \"%.64s\"", digits);
        return NULL;
    }
    buf_printf(&text, "%s%s", negative ? "" : "+", digits);
    string = buf_string(&text) != NULL ? json_string(text.data) : NULL;
    buf_free(&text);
    return string;
}

/* Finds or appends the slot of that reference; -1 when memory ran out. */
static int provide_slot(json_t *slots, const char *reference, size_t *index)
{
    for (*index = 0; *index < json_array_size(slots); ++*index)
        if (strcmp(json_string_value(json_array_get(slots, *index)), reference) == 0)
            return 0;
    return json_array_append_new(slots, json_string(reference));
}

/* "$N", or "&N" for a promise: the Nth slot. A reference that is named twice gets one slot, as
 * in SwingSet: a vat that gets two would count two references. */
static json_t *make_slot(const struct change *change, const char *kind, const char *name)
{
    char *reference = NULL, text[24];
    size_t index;
    int result;

    if (change->names->find(change->names->context, kind, name, &reference, change->error) != 0)
        return NULL;
    result = provide_slot(change->slots, reference, &index);
    snprintf(text, sizeof text, "%c%zu", strncmp(reference, "kp", 2) == 0 ? '&' : '$', index);
    free(reference);
    return result == 0 ? json_string(text) : NULL;
}

/* Returns true if an object has one member whose name begins with '@', and its value is text. */
static bool is_reference(const struct change *change, const json_t *object, const char **kind,
                         const char **name)
{
    void *member = json_object_iter((json_t *)object);

    if (change->names == NULL || json_object_size(object) != 1 ||
        json_object_iter_key(member)[0] != '@')
        return false;
    *kind = json_object_iter_key(member) + 1;
    *name = json_string_value(json_object_iter_value(member));
    return *name != NULL;
}

static json_t *make_reference(const struct change *change, const char *kind, const char *name)
{
    static const char *const kinds[] = {"vat", "device", "result"};

    if (strcmp(kind, "bigint") == 0)
        return make_bigint(name, change->error);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kind, kinds[i]) == 0)
            return make_slot(change, kind, name);
    error_set(change->error, ERROR_INPUT,
              "\"@%.32s\" is not \"@vat\", \"@device\", \"@result\" or \"@bigint\"", kind);
    return NULL;
}

/* ---- all of a value ---- */

static json_t *change_smallcaps_value(const struct change *change, const json_t *value);

static json_t *change_smallcaps_array(const struct change *change, const json_t *array)
{
    json_t *changed = json_array();
    const json_t *element;
    size_t i;

    json_array_foreach(array, i, element)
    {
        if (json_array_append_new(changed, change_smallcaps_value(change, element)) != 0) {
            json_decref(changed);
            return NULL;
        }
    }
    return changed;
}

static int change_member(const struct change *change, json_t *changed, const char *key,
                         const json_t *value)
{
    json_t *name = change->text(key, strlen(key));
    int result = -1;

    /* A property may be called "#undefined": its name is not a value, and stays. */
    if (name != NULL)
        result = json_object_set_new(changed, json_is_string(name) ? json_string_value(name) : key,
                                     change_smallcaps_value(change, value));
    json_decref(name);
    return result;
}

static json_t *change_members(const struct change *change, const json_t *object)
{
    json_t *changed;
    const char *key, *name;
    json_t *value;

    if (is_reference(change, object, &key, &name))
        return make_reference(change, key, name);
    changed = json_object();
    json_object_foreach((json_t *)object, key, value)
    {
        if (change_member(change, changed, key, value) != 0) {
            json_decref(changed);
            return NULL;
        }
    }
    return changed;
}

static json_t *change_smallcaps_value(const struct change *change, const json_t *value)
{
    if (json_is_string(value))
        return change->text(json_string_value(value), json_string_length(value));
    if (json_is_array(value))
        return change_smallcaps_array(change, value);
    if (json_is_object(value))
        return change_members(change, value);
    return json_incref((json_t *)value);
}

json_t *smallcaps_encode(const json_t *value, const struct smallcaps_names *names, json_t *slots,
                         struct error *error)
{
    const struct change change = {
        .text = escape_text, .names = names, .slots = slots, .error = error};
    json_t *encoded;

    error->kind = ERROR_NONE;
    encoded = change_smallcaps_value(&change, value);
    if (encoded == NULL && error->kind == ERROR_NONE)
        error_memory(error, "a delivery");
    return encoded;
}

json_t *smallcaps_decode(const json_t *value)
{
    const struct change change = {.text = unescape_text};

    return change_smallcaps_value(&change, value);
}

/* Returns a new reference; NULL if it is not smallcaps, or takes too much memory. */
static json_t *decode_body(const json_t *body)
{
    const char *bytes = json_string_value(body);
    json_t *value, *decoded = NULL;

    if (bytes == NULL || bytes[0] != '#' ||
        json_nodes_exceed(bytes, json_string_length(body),
                          json_nodes_affordable(json_string_length(body))))
        return NULL;
    value = json_value_read_inner(bytes + 1, json_string_length(body) - 1,
                                  JSON_DECODE_ANY | JSON_ALLOW_NUL);
    if (value != NULL)
        decoded = smallcaps_decode(value);
    json_decref(value);
    return decoded;
}

int smallcaps_write_plain(struct buf *json, const json_t *capdata, struct error *error)
{
    json_t *decoded = decode_body(json_object_get(capdata, "body"));
    int result;

    buf_clear(json);
    result = json_value_write(json, decoded != NULL ? decoded : capdata);
    json_decref(decoded);
    return result == 0 ? 0 : error_memory(error, "a result");
}
