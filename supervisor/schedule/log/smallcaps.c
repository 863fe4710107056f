/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/schedule/log/smallcaps.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json/json_value.h"

/*
 * An object of an input line may stand for something else. smallcaps_decode() puts into
 * {"@record":…} what would be read as one of these but is a record.
 */
enum stands_for {
    STANDS_FOR_ITSELF,
    STANDS_FOR_WORD,   /* {"@KIND":TEXT} */
    STANDS_FOR_SLOT,   /* {"@KIND":NAME,"iface":TEXT} */
    STANDS_FOR_RECORD, /* {"@record":OBJECT} */
    STANDS_FOR_TAGGED, /* {"#tag":TEXT,"payload":VALUE} */
    STANDS_FOR_ERROR,  /* {"#error":MESSAGE,"name":TEXT}, and more */
};

static const char *const slot_kinds[] = {"vat", "device", "result", "ref"};

/* The kind of the reference that an object names beside its interface; NULL: it does not. */
static const char *find_slot_kind(const json_t *object, const char **name)
{
    if (json_object_size(object) != 2 || !json_is_string(json_object_get(object, "iface")))
        return NULL;
    for (size_t i = 0; i < sizeof slot_kinds / sizeof *slot_kinds; i++) {
        char member[sizeof "@device"];

        snprintf(member, sizeof member, "@%s", slot_kinds[i]);
        *name = json_string_value(json_object_get(object, member));
        if (*name != NULL)
            return slot_kinds[i];
    }
    return NULL;
}

static enum stands_for find_meaning(const json_t *object)
{
    void *member = json_object_iter((json_t *)object);
    const size_t size = json_object_size(object);
    const json_t *name = json_object_get(object, "name");
    const char *slot;

    if (size == 1 && json_object_iter_key(member)[0] == '@') {
        const json_t *value = json_object_iter_value(member);

        if (json_is_string(value))
            return STANDS_FOR_WORD;
        return json_is_object(value) && strcmp(json_object_iter_key(member), "@record") == 0
                   ? STANDS_FOR_RECORD
                   : STANDS_FOR_ITSELF;
    }
    if (find_slot_kind(object, &slot) != NULL)
        return STANDS_FOR_SLOT;
    if (size == 2 && json_is_string(json_object_get(object, "#tag")) &&
        json_object_get(object, "payload") != NULL)
        return STANDS_FOR_TAGGED;
    return json_is_string(json_object_get(object, "#error")) && json_is_string(name)
               ? STANDS_FOR_ERROR
               : STANDS_FOR_ITSELF;
}

/* How to change the values of a tree. */
struct change {
    json_t *(*text)(const struct change *change, const char *text, size_t length);
    json_t *(*number)(const struct change *change, const json_t *number);
    json_t *(*object)(const struct change *change, const json_t *object);
    const struct smallcaps_names *names;
    json_t *slots;
    struct error *error;
};

static json_t *change_value(const struct change *change, const json_t *value);

static json_t *change_array(const struct change *change, const json_t *array)
{
    json_t *changed = json_array();
    const json_t *element;
    size_t i;

    json_array_foreach(array, i, element)
    {
        if (json_array_append_new(changed, change_value(change, element)) != 0) {
            json_decref(changed);
            return NULL;
        }
    }
    return changed;
}

static json_t *change_value(const struct change *change, const json_t *value)
{
    if (json_is_string(value))
        return change->text(change, json_string_value(value), json_string_length(value));
    if (json_is_real(value))
        return change->number(change, value);
    if (json_is_array(value))
        return change_array(change, value);
    if (json_is_object(value))
        return change->object(change, value);
    return json_incref((json_t *)value);
}

/* All members with changed values, and with the names that `rename` makes unless it is NULL. */
static json_t *change_members(const struct change *change, const json_t *object,
                              json_t *(*rename)(const char *key))
{
    json_t *changed = json_object(), *value;
    const char *key;

    json_object_foreach((json_t *)object, key, value)
    {
        json_t *name = rename != NULL ? rename(key) : json_string(key);
        int result = name == NULL ? -1
                                  : json_object_set_new(changed, json_string_value(name),
                                                        change_value(change, value));

        json_decref(name);
        if (result != 0) {
            json_decref(changed);
            return NULL;
        }
    }
    return changed;
}

/* ---- to smallcaps ---- */

static bool has_special_prefix(const char *text, size_t length)
{
    return length > 0 && text[0] >= '!' && text[0] <= '-';
}

/* `text` after `prefix`. */
static json_t *make_prefixed(const char *prefix, const char *text, size_t length)
{
    struct buf joined = {0};
    json_t *string = NULL;

    buf_append_string(&joined, prefix);
    buf_append(&joined, text, length);
    if (buf_string(&joined) != NULL)
        string = json_stringn(joined.data, joined.length);
    buf_free(&joined);
    return string;
}

static json_t *escape_text(const struct change *change, const char *text, size_t length)
{
    (void)change;
    return has_special_prefix(text, length) ? make_prefixed("!", text, length)
                                            : json_stringn(text, length);
}

static json_t *escape_key(const char *key)
{
    return escape_text(NULL, key, strlen(key));
}

static json_t *keep_number(const struct change *change, const json_t *number)
{
    (void)change;
    return json_incref((json_t *)number);
}

static json_t *make_bigint(const char *digits, struct error *error)
{
    const bool negative = digits[0] == '-';
    const char *first = digits + negative;

    if (*first == '\0' || first[strspn(first, "0123456789")] != '\0') {
        error_set(error, ERROR_INPUT, "\"@bigint\" takes decimal digits, not \"%.64s\"", digits);
        return NULL;
    }
    return make_prefixed(negative ? "" : "+", digits, strlen(digits));
}

/* JSON has -0 too, as a number. */
static const char *const bare_values[] = {"undefined", "NaN", "Infinity", "-Infinity"};

static bool is_bare_value(const char *text)
{
    for (size_t i = 0; i < sizeof bare_values / sizeof *bare_values; i++) {
        if (strcmp(text, bare_values[i]) == 0)
            return true;
    }
    return false;
}

static json_t *make_bare_value(const char *text, struct error *error)
{
    if (strcmp(text, "-0") == 0)
        return json_real(-0.0);
    if (is_bare_value(text))
        return make_prefixed("#", text, strlen(text));
    error_set(error, ERROR_INPUT,
              "\"@value\" takes undefined, NaN, Infinity, -Infinity or -0, not \"%.64s\"", text);
    return NULL;
}

/* Finds or appends the slot of that reference; -1 when memory ran out. */
static int provide_slot(json_t *slots, const char *reference, size_t *index)
{
    for (*index = 0; *index < json_array_size(slots); ++*index)
        if (strcmp(json_string_value(json_array_get(slots, *index)), reference) == 0)
            return 0;
    return json_array_append_new(slots, json_string(reference));
}

/* "$N", or "&N" for a promise: the Nth slot, with the name of its interface where it is first
 * mentioned. A reference that is named twice gets one slot, as in SwingSet: a vat that gets two
 * would count two references. */
static json_t *make_slot(const struct change *change, const char *kind, const char *name,
                         const char *iface)
{
    const size_t before = json_array_size(change->slots);
    struct buf text = {0};
    char *reference = NULL;
    json_t *string = NULL;
    size_t index;

    if (change->names->find(change->names->context, kind, name, &reference, change->error) != 0)
        return NULL;
    if (provide_slot(change->slots, reference, &index) == 0) {
        buf_printf(&text, "%c%zu", strncmp(reference, "kp", 2) == 0 ? '&' : '$', index);
        if (iface != NULL && index == before)
            buf_printf(&text, ".%s", iface);
        string = buf_string(&text) != NULL ? json_string(text.data) : NULL;
    }
    free(reference);
    buf_free(&text);
    return string;
}

static const char *bootstrap_interface(const char *kind)
{
    if (strcmp(kind, "vat") == 0)
        return "Alleged: root";
    return strcmp(kind, "device") == 0 ? "Alleged: device" : NULL;
}

static json_t *make_word(const struct change *change, const char *kind, const char *text)
{
    if (strcmp(kind, "bigint") == 0)
        return make_bigint(text, change->error);
    if (strcmp(kind, "value") == 0)
        return make_bare_value(text, change->error);
    if (strcmp(kind, "symbol") == 0)
        return make_prefixed("%", text, strlen(text));
    for (size_t i = 0; i < sizeof slot_kinds / sizeof *slot_kinds; i++)
        if (strcmp(kind, slot_kinds[i]) == 0)
            return make_slot(change, kind, text,
                             change->names->bootstraps ? bootstrap_interface(kind) : NULL);
    error_set(change->error, ERROR_INPUT,
              "\"@%.32s\" is not \"@vat\", \"@device\", \"@result\", \"@ref\", \"@bigint\", "
              "\"@symbol\" or \"@value\"",
              kind);
    return NULL;
}

static json_t *encode_object(const struct change *change, const json_t *object)
{
    void *member = json_object_iter((json_t *)object);
    const char *kind, *name = NULL;

    switch (find_meaning(object)) {
    case STANDS_FOR_WORD:
        return make_word(change, json_object_iter_key(member) + 1,
                         json_string_value(json_object_iter_value(member)));
    case STANDS_FOR_SLOT:
        kind = find_slot_kind(object, &name);
        return make_slot(change, kind, name, json_string_value(json_object_get(object, "iface")));
    case STANDS_FOR_RECORD:
        return change_members(change, json_object_iter_value(member), escape_key);
    case STANDS_FOR_TAGGED:
    case STANDS_FOR_ERROR:
        return change_members(change, object, NULL);
    case STANDS_FOR_ITSELF:
        break;
    }
    return change_members(change, object, escape_key);
}

json_t *smallcaps_encode(const json_t *value, const struct smallcaps_names *names, json_t *slots,
                         struct error *error)
{
    const struct change change = {.text = escape_text,
                                  .number = keep_number,
                                  .object = encode_object,
                                  .names = names,
                                  .slots = slots,
                                  .error = error};
    json_t *encoded;

    error->kind = ERROR_NONE;
    encoded = change_value(&change, value);
    if (encoded == NULL && error->kind == ERROR_NONE)
        error_memory(error, "a delivery");
    return encoded;
}

/* ---- from smallcaps ---- */

static json_t *make_object(const char *kind, const char *text, size_t length)
{
    json_t *object = json_object();

    if (json_object_set_new(object, kind, json_stringn(text, length)) == 0)
        return object;
    json_decref(object);
    return NULL;
}

/* "$N" or "$N.INTERFACE"; a number without a slot stays text. */
static json_t *read_slot(const struct change *change, const char *text, size_t length)
{
    char *end;
    unsigned long index = strtoul(text + 1, &end, 10);
    const json_t *slot = json_array_get(change->slots, index);
    json_t *object;

    if (!json_is_string(slot) || end == text + 1 || (*end != '.' && end != text + length))
        return json_stringn(text, length);
    object = make_object("@ref", json_string_value(slot), json_string_length(slot));
    if (object != NULL && *end == '.' &&
        json_object_set_new(object, "iface",
                            json_stringn(end + 1, (size_t)(text + length - (end + 1)))) != 0) {
        json_decref(object);
        return NULL;
    }
    return object;
}

static json_t *read_text(const struct change *change, const char *text, size_t length)
{
    switch (length > 0 ? text[0] : '\0') {
    case '!':
        return json_stringn(text + 1, length - 1);
    case '+':
        return make_object("@bigint", text + 1, length - 1);
    case '-':
        return make_object("@bigint", text, length);
    case '%':
        return make_object("@symbol", text + 1, length - 1);
    case '#':
        if (is_bare_value(text + 1))
            return make_object("@value", text + 1, length - 1);
        break;
    case '$':
    case '&':
        return read_slot(change, text, length);
    default:
        break;
    }
    return json_stringn(text, length);
}

static json_t *read_number(const struct change *change, const json_t *number)
{
    const double value = json_real_value(number);

    (void)change;
    return value == 0 && signbit(value) ? make_object("@value", "-0", 2)
                                        : json_incref((json_t *)number);
}

static json_t *unescape_key(const char *key)
{
    return json_string(key[0] == '!' ? key + 1 : key);
}

static json_t *decode_object(const struct change *change, const json_t *object)
{
    json_t *record;

    if (json_object_get(object, "#tag") != NULL || json_object_get(object, "#error") != NULL)
        return change_members(change, object, NULL);
    record = change_members(change, object, unescape_key);
    if (record == NULL || find_meaning(record) == STANDS_FOR_ITSELF)
        return record;
    return json_pack("{s:o}", "@record", record);
}

json_t *smallcaps_decode(const json_t *value, json_t *slots)
{
    const struct change change = {
        .text = read_text, .number = read_number, .object = decode_object, .slots = slots};

    return change_value(&change, value);
}

/* Returns a new reference; NULL if it is not smallcaps, or takes too much memory. */
static json_t *decode_capdata(const json_t *capdata)
{
    const json_t *body = json_object_get(capdata, "body");
    const char *bytes = json_string_value(body);
    json_t *value, *decoded = NULL;

    if (bytes == NULL || bytes[0] != '#' ||
        json_nodes_exceed(bytes, json_string_length(body),
                          json_nodes_affordable(json_string_length(body))))
        return NULL;
    value = json_value_read_inner(bytes + 1, json_string_length(body) - 1,
                                  JSON_DECODE_ANY | JSON_ALLOW_NUL);
    if (value != NULL)
        decoded = smallcaps_decode(value, json_object_get(capdata, "slots"));
    json_decref(value);
    return decoded;
}

int smallcaps_write_value(struct buf *json, const json_t *capdata, struct error *error)
{
    json_t *decoded = decode_capdata(capdata);
    int result;

    buf_clear(json);
    result = json_value_write(json, decoded != NULL ? decoded : capdata);
    json_decref(decoded);
    return result == 0 ? 0 : error_memory(error, "a result");
}
