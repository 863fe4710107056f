/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/records/keys.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/json/json_text.h"
#include "base/json/json_value.h"
#include "base/number.h"
#include "base/text/format.h"
#include "kernel/state.h"
#include "store/store.h"

const char *keys_name(char name[KEYS_NAME_SIZE], const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    format_arguments(name, KEYS_NAME_SIZE, format, arguments);
    va_end(arguments);
    return name;
}

/* Appends as much as fits; returns the name's new end. */
static char *append_name_part(char *end, const char *limit, const char *text)
{
    const size_t length = strlen(text), space = (size_t)(limit - end);

    return mempcpy(end, text, length < space ? length : space);
}

const char *keys_part(char name[KEYS_NAME_SIZE], const char *owner, const char *part)
{
    const char *limit = name + (KEYS_NAME_SIZE - 1);

    *append_name_part(append_name_part(name, limit, owner), limit, part) = '\0';
    return name;
}

const char *keys_vat_part(char name[KEYS_NAME_SIZE], int64_t vat, const char *part,
                          const char *name_of_part)
{
    const char *limit = name + (KEYS_NAME_SIZE - 1);
    char *end = name;

    *end++ = 'v';
    end = json_text_put_integer(end, vat);
    *append_name_part(append_name_part(end, limit, part), limit, name_of_part) = '\0';
    return name;
}

int keys_get(struct kernel *kernel, const char *key, struct buf *value, bool *found,
             struct error *error)
{
    buf_clear(value);
    if (store_key_get(kernel->store, key, value, found, error) != 0)
        return -1;
    if (buf_string(value) == NULL)
        return error_memory(error, "a record of the kernel");
    return 0;
}

int keys_has(struct kernel *kernel, const char *key, bool *found, struct error *error)
{
    return keys_get(kernel, key, &kernel->value, found, error);
}

static int set_bytes(struct kernel *kernel, const char *key, const char *bytes, size_t length,
                     struct error *error)
{
    struct iovec value = {.iov_base = (void *)(uintptr_t)bytes, .iov_len = length};

    return store_key_set(kernel->store, key, value, error);
}

int keys_set(struct kernel *kernel, const char *key, const char *value, struct error *error)
{
    return set_bytes(kernel, key, value, strlen(value), error);
}

int keys_set_buf(struct kernel *kernel, const char *key, const struct buf *value,
                 struct error *error)
{
    if (buf_failed(value))
        return error_memory(error, "a record of the kernel");
    return set_bytes(kernel, key, value->length > 0 ? value->data : "", value->length, error);
}

int keys_delete(struct kernel *kernel, const char *key, struct error *error)
{
    return store_key_delete(kernel->store, key, error);
}

int keys_note_new(struct kernel *kernel, const char *name, struct error *error)
{
    return store_name_note_new(kernel->store, name, error);
}

bool keys_is_new(const struct kernel *kernel, const char *name)
{
    return store_name_is_new(kernel->store, name);
}

static int keys_damaged(const char *key, struct error *error)
{
    return error_set(error, ERROR_SYSTEM, "the store is damaged: %s is missing or no such value",
                     key);
}

int keys_require(struct kernel *kernel, const char *key, struct buf *value, struct error *error)
{
    bool found;

    if (keys_get(kernel, key, value, &found, error) != 0)
        return -1;
    return found ? 0 : keys_damaged(key, error);
}

int keys_get_number(struct kernel *kernel, const char *key, int64_t *number, struct error *error)
{
    if (keys_require(kernel, key, &kernel->value, error) != 0)
        return -1;
    return keys_read_numbers(buf_string(&kernel->value), number, 1) ? 0 : keys_damaged(key, error);
}

bool keys_read_numbers(const char *text, int64_t *numbers, size_t count)
{
    bool bracket = *text == '[';
    const char *at = bracket ? text + 1 : text;

    for (size_t i = 0; i < count; i++) {
        uint64_t number;

        if ((i > 0 && *at++ != ',') || !number_take(&at, &number) || number > INT64_MAX)
            return false;
        numbers[i] = (int64_t)number;
    }
    return bracket ? strcmp(at, "]") == 0 : *at == '\0';
}

/* Parses the text that keys_require() has read. */
static int parse_value(struct kernel *kernel, const char *key, json_t **value, struct error *error)
{
    *value = json_value_read(kernel->value.data, kernel->value.length,
                             JSON_ALLOW_NUL | JSON_DECODE_ANY, NULL);
    return *value != NULL ? 0 : keys_damaged(key, error);
}

int keys_get_json(struct kernel *kernel, const char *key, json_t **value, struct error *error)
{
    if (keys_require(kernel, key, &kernel->value, error) != 0)
        return -1;
    return parse_value(kernel, key, value, error);
}

int keys_get_shared_json(struct kernel *kernel, const char *key, json_t **value,
                         struct error *error)
{
    if (keys_require(kernel, key, &kernel->value, error) != 0)
        return -1;
    *value = json_memo_find(&kernel->read, key, &kernel->value);
    if (*value != NULL)
        return 0;
    if (parse_value(kernel, key, value, error) != 0)
        return -1;
    json_memo_note(&kernel->read, key, &kernel->value, *value);
    return 0;
}

int keys_get_work(struct kernel *kernel, const char *key, json_t **value, struct buf *text,
                  struct error *error)
{
    if (keys_require(kernel, key, &kernel->value, error) != 0)
        return -1;
    if (buf_append(text, kernel->value.data, kernel->value.length) != 0)
        return error_memory(error, "work");
    *value = json_memo_take(&kernel->queued, key, &kernel->value);
    return *value != NULL ? 0 : parse_value(kernel, key, value, error);
}

int keys_is(struct kernel *kernel, const char *key, const char *text, bool *is, struct error *error)
{
    bool found;

    *is = false;
    if (keys_get(kernel, key, &kernel->value, &found, error) != 0)
        return -1;
    *is = found && strcmp(buf_string(&kernel->value), text) == 0;
    return 0;
}

int keys_set_number(struct kernel *kernel, const char *key, int64_t number, struct error *error)
{
    char text[32];

    format_text(text, sizeof text, "%" PRId64, number);
    return keys_set(kernel, key, text, error);
}

int keys_json_text(struct buf *buf, const json_t *value, struct error *error)
{
    if (json_value_write(buf, value) != 0)
        return error_memory(error, "JSON of the kernel");
    return 0;
}

int keys_set_json(struct kernel *kernel, const char *key, const json_t *value, struct error *error)
{
    buf_clear(&kernel->value);
    if (keys_json_text(&kernel->value, value, error) != 0)
        return -1;
    return keys_set_buf(kernel, key, &kernel->value, error);
}

int keys_put_work_text(struct kernel *kernel, const char *key, const struct buf *text,
                       const json_t *value, struct error *error)
{
    if (keys_set_buf(kernel, key, text, error) != 0)
        return -1;
    json_memo_note(&kernel->queued, key, text, value);
    return 0;
}

int keys_put_work(struct kernel *kernel, const char *key, const json_t *value, struct error *error)
{
    buf_clear(&kernel->value);
    if (keys_json_text(&kernel->value, value, error) != 0)
        return -1;
    return keys_put_work_text(kernel, key, &kernel->value, value, error);
}

int keys_take_number(struct kernel *kernel, const char *key, int64_t *number, struct error *error)
{
    if (keys_get_number(kernel, key, number, error) != 0)
        return -1;
    return keys_set_number(kernel, key, *number + 1, error);
}

int keys_has_text(struct kernel *kernel, const char *key, const char *text, bool *has,
                  struct error *error)
{
    json_t *texts;
    const json_t *element;
    bool none;
    size_t i;

    *has = false;
    if (keys_is(kernel, key, "[]", &none, error) != 0 || none)
        return none ? 0 : -1;
    if (keys_get_json(kernel, key, &texts, error) != 0)
        return -1;
    json_array_foreach(texts, i, element)
    {
        *has = *has || (json_is_string(element) && strcmp(json_string_value(element), text) == 0);
    }
    json_decref(texts);
    return 0;
}

int keys_append_text(struct kernel *kernel, const char *key, const char *text, struct error *error)
{
    json_t *texts;
    int result;

    if (keys_get_json(kernel, key, &texts, error) != 0)
        return -1;
    if (json_array_append_new(texts, json_string(text)) != 0)
        result = keys_damaged(key, error);
    else
        result = keys_set_json(kernel, key, texts, error);
    json_decref(texts);
    return result;
}

int keys_remove_text(struct kernel *kernel, const char *key, const char *text, bool *removed,
                     struct error *error)
{
    json_t *texts, *element;
    int result = 0;
    size_t i;

    *removed = false;
    if (keys_get_json(kernel, key, &texts, error) != 0)
        return -1;
    json_array_foreach(texts, i, element)
    {
        if (json_is_string(element) && strcmp(json_string_value(element), text) == 0) {
            json_array_remove(texts, i);
            *removed = true;
            result = keys_set_json(kernel, key, texts, error);
            break;
        }
    }
    json_decref(texts);
    return result;
}

/* Returns the list with the text inserted; *added is false if the list had it. */
static void insert_sorted(struct buf *longer, char *list, const char *text, bool *added)
{
    char *rest = NULL;
    bool placed = false;

    for (char *item = strtok_r(list, ",", &rest); item != NULL; item = strtok_r(NULL, ",", &rest)) {
        int order = strcmp(text, item);

        *added = *added && order != 0;
        if (order <= 0 && !placed) {
            if (order < 0)
                buf_printf(longer, "%s,", text);
            placed = true;
        }
        buf_printf(longer, "%s,", item);
    }
    if (!placed)
        buf_printf(longer, "%s,", text);
}

int keys_add_to_list(struct kernel *kernel, const char *key, const char *text, bool *added,
                     struct error *error)
{
    struct buf list = {0}, longer = {0};
    bool found;
    int result = -1;

    *added = true;
    if (keys_get(kernel, key, &list, &found, error) != 0)
        goto out;
    insert_sorted(&longer, list.data, text, added);
    if (!buf_failed(&longer))
        longer.length--; /* the last comma */
    result = *added ? keys_set_buf(kernel, key, &longer, error) : 0;
out:
    buf_free(&longer);
    buf_free(&list);
    return result;
}

int keys_next(struct kernel *kernel, const char *prefix, const char *after, struct buf *key,
              bool *found, struct error *error)
{
    if (store_key_next(kernel->store, prefix, after, key, found, error) != 0)
        return -1;
    if (buf_string(key) == NULL)
        return error_memory(error, "a key of the kernel");
    return 0;
}

/* All places together hold a few hundred KiB at most. */
enum { TEXT_MAX = 4096 };

/* FNV-1a: keys are short. */
static size_t place_of_key(const char *key)
{
    uint32_t hash = 2166136261U;

    for (; *key != '\0'; key++)
        hash = (hash ^ (unsigned char)*key) * 16777619U;
    return (hash ^ hash >> 16) % JSON_MEMO_PLACES;
}

static bool has_text(const struct json_memo_place *place, const struct buf *text)
{
    return place->value != NULL && place->text.length == text->length &&
           memcmp(place->text.data, text->data, text->length) == 0;
}

json_t *json_memo_find(const struct json_memo *memo, const char *key, const struct buf *text)
{
    const struct json_memo_place *place = &memo->places[place_of_key(key)];

    return has_text(place, text) ? json_incref(place->value) : NULL;
}

json_t *json_memo_take(struct json_memo *memo, const char *key, const struct buf *text)
{
    struct json_memo_place *place = &memo->places[place_of_key(key)];
    json_t *value = place->value;

    if (!has_text(place, text) || value->refcount != 1)
        return NULL;
    place->value = NULL;
    return value;
}

void json_memo_note(struct json_memo *memo, const char *key, const struct buf *text,
                    const json_t *value)
{
    struct json_memo_place *place = &memo->places[place_of_key(key)];

    if (text->length == 0 || text->length > TEXT_MAX)
        return;
    json_decref(place->value);
    buf_clear(&place->text);
    place->value = buf_append(&place->text, text->data, text->length) == 0
                       ? json_incref((json_t *)(uintptr_t)value)
                       : NULL;
}

void json_memo_free(struct json_memo *memo)
{
    for (size_t i = 0; i < JSON_MEMO_PLACES; i++) {
        json_decref(memo->places[i].value);
        buf_free(&memo->places[i].text);
    }
    *memo = (struct json_memo){0};
}
