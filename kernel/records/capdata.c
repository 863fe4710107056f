/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/records/capdata.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json/json_value.h"
#include "base/number.h"
#include "kernel/records/keys.h"
#include "kernel/records/reference.h"

enum { SLOT_DIGITS = 9 };

/* A text that begins with '!' to '-' is written with a '!' in front. */
static bool begins_special(const char *text)
{
    return text[0] >= '!' && text[0] <= '-';
}

json_t *capdata_string(const char *text)
{
    return json_sprintf(begins_special(text) ? "!%s" : "%s", text);
}

/* Words that quote a vat are cut to fit, which may split a character. */
json_t *capdata_words(const char *words)
{
    json_t *text = json_string(words);
    struct buf ascii = {0};

    if (text != NULL)
        return text;
    for (; *words != '\0'; words++)
        buf_append_byte(&ascii, (unsigned char)*words < 0x80 ? *words : '?');
    if (buf_string(&ascii) != NULL)
        text = json_string(ascii.data);
    buf_free(&ascii);
    return text;
}

json_t *capdata_error_tree(const char *words)
{
    json_t *text = capdata_words(words), *tree = NULL;

    if (text != NULL)
        tree = json_pack("{s:o,s:s}", "#error", capdata_string(json_string_value(text)), "name",
                         "Error");
    json_decref(text);
    return tree;
}

json_t *capdata_make(json_t *tree, json_t *slots)
{
    struct buf body = {0};
    struct error error;
    json_t *capdata = NULL;

    buf_append_byte(&body, '#');
    if (tree != NULL && keys_json_text(&body, tree, &error) == 0 && !buf_failed(&body))
        capdata = json_pack("{s:s%,s:O}", "body", body.data, body.length, "slots", slots);
    json_decref(tree);
    json_decref(slots);
    buf_free(&body);
    return capdata;
}

json_t *capdata_error(const char *words)
{
    return capdata_make(capdata_error_tree(words), json_array());
}

bool capdata_has_krefs(const json_t *capdata)
{
    const json_t *slots = json_object_get(capdata, "slots"), *slot;
    enum reference_kind kind;
    size_t i;

    if (!json_is_string(json_object_get(capdata, "body")) || !json_is_array(slots))
        return false;
    json_array_foreach(slots, i, slot)
    {
        if (!json_is_string(slot) || !reference_read_kref(&kind, json_string_value(slot)))
            return false;
    }
    return true;
}

/* Reads the slot number after '$' or '&'. The end or ".INTERFACE" follows it. */
static bool read_slot_number(const char *text, size_t *number, const char **interface)
{
    const char *end = text;

    if (!number_take(&end, number) || end - text > SLOT_DIGITS)
        return false;
    *interface = *end == '.' ? end + 1 : NULL;
    return *end == '.' || *end == '\0';
}

static bool is_slot_text(const char *text)
{
    return text[0] == '$' || text[0] == '&';
}

const char *capdata_slot(const json_t *text, const json_t *slots)
{
    const char *bytes = json_string_value(text), *interface;
    size_t number;

    if (bytes == NULL || !is_slot_text(bytes) || !read_slot_number(bytes + 1, &number, &interface))
        return NULL;
    return json_string_value(json_array_get(slots, number));
}

json_t *capdata_tree(const json_t *capdata)
{
    const json_t *body = json_object_get(capdata, "body");
    const char *bytes = json_string_value(body);

    if (bytes == NULL || bytes[0] != '#')
        return NULL;
    return json_value_read_inner(bytes + 1, json_string_length(body) - 1,
                                 JSON_ALLOW_NUL | JSON_DECODE_ANY);
}

const char *capdata_single_slot(const json_t *capdata)
{
    const char *body = json_string_value(json_object_get(capdata, "body"));
    const char *slot = NULL;
    json_t *tree;

    if (strncmp(body, "#\"$", 3) != 0 && strncmp(body, "#\"&", 3) != 0)
        return NULL;
    tree = capdata_tree(capdata);
    slot = capdata_slot(tree, json_object_get(capdata, "slots"));
    json_decref(tree);
    return slot;
}

void capdata_method(const json_t *methargs, struct buf *method)
{
    json_t *tree = capdata_tree(methargs);
    const char *text = json_string_value(json_array_get(tree, 0));

    if (text == NULL)
        buf_append_string(method, "<unknown>");
    else
        buf_append_string(method, text[0] == '!' ? text + 1 : text);
    json_decref(tree);
}

const char *capdata_text(const json_t *value)
{
    const char *text = json_string_value(value);

    if (text == NULL || text[0] == '!')
        return text == NULL ? NULL : text + 1;
    return begins_special(text) ? NULL : text;
}

bool capdata_natural(const json_t *value, int64_t *number)
{
    const char *text = json_string_value(value);
    uint64_t read;

    if (json_is_integer(value)) {
        *number = json_integer_value(value);
        return *number >= 0;
    }
    if (text == NULL || text[0] != '+' || strlen(text) > 20 ||
        !number_read(text + 1, INT64_MAX, &read))
        return false;
    *number = (int64_t)read;
    return true;
}

/* ---- copying a part of a tree into another body ---- */

struct move {
    const json_t *slots;
    json_t *slots_out;
    int64_t *numbers; /* of each slot in slots_out; -1: not used yet */
    struct error *error;
};

static json_t *move_value(struct move *move, const json_t *value);

static json_t *move_slot(struct move *move, const char *text)
{
    static const char alleged[] = "Alleged: ";
    const char *interface = NULL;
    size_t from;
    bool first;

    if (!read_slot_number(text + 1, &from, &interface) || from >= json_array_size(move->slots)) {
        error_set(move->error, ERROR_INPUT, "%.64s is not a slot of its value", text);
        return NULL;
    }
    first = move->numbers[from] < 0;
    if (first) {
        move->numbers[from] = (int64_t)json_array_size(move->slots_out);
        if (json_array_append(move->slots_out, json_array_get(move->slots, from)) != 0)
            return NULL;
    }
    if (!first || text[0] == '&')
        return json_sprintf("%c%" PRId64, text[0], move->numbers[from]);
    if (interface == NULL)
        interface = "undefined";
    if (strncmp(interface, alleged, sizeof alleged - 1) == 0)
        interface += sizeof alleged - 1;
    return json_sprintf("$%" PRId64 ".%s%s", move->numbers[from], alleged, interface);
}

static json_t *move_array(struct move *move, const json_t *array)
{
    json_t *moved = json_array();
    const json_t *value;
    size_t i;

    json_array_foreach(array, i, value)
    {
        if (json_array_append_new(moved, move_value(move, value)) != 0) {
            json_decref(moved);
            return NULL;
        }
    }
    return moved;
}

static int compare_property_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static json_t *move_object(struct move *move, json_t *object)
{
    size_t count = json_object_size(object), i = 0;
    const char **names = calloc(count + 1, sizeof *names);
    json_t *moved = json_object();
    void *at;

    if (names == NULL || moved == NULL)
        goto failed;
    for (at = json_object_iter(object); at != NULL && i < count;
         at = json_object_iter_next(object, at))
        names[i++] = json_object_iter_key(at);
    qsort(names, count, sizeof *names, compare_property_names);
    for (i = 0; i < count; i++) {
        if (strcmp(names[i], "errorId") == 0 && json_object_get(object, "#error") != NULL)
            continue;
        if (json_object_set_new(moved, names[i],
                                move_value(move, json_object_get(object, names[i]))) != 0)
            goto failed;
    }
    free(names);
    return moved;
failed:
    json_decref(moved);
    free(names);
    return NULL;
}

/* jansson reads at most 2048 levels. */
static json_t *move_value(struct move *move, const json_t *value)
{
    const char *text = json_string_value(value);

    if (text != NULL && is_slot_text(text))
        return move_slot(move, text);
    if (json_is_array(value))
        return move_array(move, value);
    if (json_is_object(value))
        return move_object(move, (json_t *)(uintptr_t)value);
    return json_copy((json_t *)(uintptr_t)value);
}

json_t *capdata_move(const json_t *tree, const json_t *slots, json_t *slots_out,
                     struct error *error)
{
    size_t count = json_array_size(slots);
    struct move move = {.slots = slots, .slots_out = slots_out, .error = error};
    json_t *moved = NULL;

    error_memory(error, "a value");
    move.numbers = malloc((count + 1) * sizeof *move.numbers);
    if (move.numbers == NULL)
        return NULL;
    for (size_t i = 0; i < count; i++)
        move.numbers[i] = -1;
    moved = move_value(&move, tree);
    free(move.numbers);
    return moved;
}
