/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/replay/output/replay_part.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/json/json_value.h"
#include "supervisor/replay/output/replay_note.h"

static int add_result(struct replay_part *part, struct replay_result *result)
{
    struct replay_result **results =
        array_reserve(part->results, &part->capacity, part->count + 1, sizeof *results);
    struct replay_result *added = malloc(sizeof *added);

    if (results != NULL)
        part->results = results;
    if (results == NULL || added == NULL) {
        free(added);
        return -1;
    }
    *added = *result;
    *result = (struct replay_result){0};
    results[part->count++] = added;
    return 0;
}

/* Notes an error, unless there was one further up in the source. */
static void take_error(struct replay_part *part, const json_t *line)
{
    const uint64_t number = (uint64_t)json_integer_value(json_object_get(line, "line"));
    const char *text = json_string_value(json_object_get(line, "text"));

    if (part->failed_line > 0 && number >= part->failed_line)
        return;
    part->failed_line = number > 0 ? number : 1;
    error_set(&part->failure, (enum error_kind)json_integer_value(json_object_get(line, "status")),
              "%s", text != NULL ? text : "a part of the replay failed");
}

/* As it is, or for people, who are not told of each delivery. */
static void take_note(struct replay_part *part, const json_t *line, struct scan_span text,
                      bool json)
{
    if (json) {
        buf_append(&part->notes, text.at, text.length);
        buf_append_byte(&part->notes, '\n');
    } else if (strcmp(json_string_value(json_object_get(line, "kind")), "tolerated") == 0) {
        replay_note_put_text(&part->notes, line);
    }
}

/* `result` is what the lines before have begun. */
static int replay_part_take_line(struct replay_part *part, struct scan_span text, bool json,
                                 struct replay_result *result, struct error *error)
{
    json_t *line = json_value_read(text.at, text.length, JSON_ALLOW_NUL, NULL);
    const char *kind = json_string_value(json_object_get(line, "kind"));
    int taken = 0;

    if (kind != NULL && strcmp(kind, "error") == 0)
        take_error(part, line);
    else if (kind != NULL && (strcmp(kind, "delivery") == 0 || strcmp(kind, "tolerated") == 0))
        take_note(part, line, text, json);
    else if (kind == NULL || strcmp(kind, "span") != 0)
        taken = replay_result_take(result, line, error);
    if (taken == 0 && kind != NULL && strcmp(kind, "vat") == 0 && add_result(part, result) != 0)
        taken = error_memory(error, "the results");
    json_decref(line);
    return taken;
}

int replay_part_read(struct replay_part *part, const char *text, size_t length, bool json,
                     struct error *error)
{
    struct replay_result result = {0};
    size_t place = 0;
    int status = 0;

    while (status == 0 && place < length) {
        const char *end = memchr(text + place, '\n', length - place);
        const struct scan_span line = {text + place,
                                       end != NULL ? (size_t)(end - text) - place : length - place};

        status = replay_part_take_line(part, line, json, &result, error);
        place += line.length + 1;
    }
    replay_result_free(&result);
    return status;
}

void replay_part_free(struct replay_part *part)
{
    for (size_t i = 0; i < part->count; i++)
        if (part->results[i] != NULL) {
            replay_result_free(part->results[i]);
            free(part->results[i]);
        }
    free(part->results);
    buf_free(&part->notes);
    *part = (struct replay_part){0};
}
