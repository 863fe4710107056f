/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/records/json_memo.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* All places together hold a few hundred KiB at most. */
enum { TEXT_MAX = 4096 };

/* FNV-1a: keys are short. */
static size_t place_of(const char *key)
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
    const struct json_memo_place *place = &memo->places[place_of(key)];

    return has_text(place, text) ? json_incref(place->value) : NULL;
}

json_t *json_memo_take(struct json_memo *memo, const char *key, const struct buf *text)
{
    struct json_memo_place *place = &memo->places[place_of(key)];
    json_t *value = place->value;

    if (!has_text(place, text) || value->refcount != 1)
        return NULL;
    place->value = NULL;
    return value;
}

void json_memo_note(struct json_memo *memo, const char *key, const struct buf *text,
                    const json_t *value)
{
    struct json_memo_place *place = &memo->places[place_of(key)];

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
