/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/delivery_line.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "proto/vat_message.h"
#include "supervisor/smallcaps.h"

static const char shape[] = "a delivery is {\"vat\":\"NAME\",\"method\":\"NAME\",\"args\":[...]}";

/* A string that C can hold: one of JSON may go on behind a '\0'. */
static bool is_name(const json_t *value)
{
    return json_is_string(value) && json_string_length(value) == strlen(json_string_value(value));
}

static int check_fields(const json_t *object, struct error *error)
{
    static const char *const known[] = {"vat", "method", "args", "deliver"};
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)object, key, value)
    {
        bool is_known = false;

        for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
            is_known = is_known || strcmp(key, known[i]) == 0;
        if (!is_known)
            return error_set(error, ERROR_INPUT, "unknown field \"%.64s\"; %s", key, shape);
    }
    if (!is_name(json_object_get(object, "vat")))
        return error_set(error, ERROR_INPUT, "\"vat\" must be a string; %s", shape);
    return 0;
}

/* Capdata whose body is `#` and the smallcaps of [method, args]. */
static json_t *make_methargs(const json_t *method, const json_t *args)
{
    json_t *plain = json_pack("[O, O]", method, args);
    json_t *encoded = plain != NULL ? smallcaps_encode(plain) : NULL;
    char *text = encoded != NULL ? json_dumps(encoded, JSON_COMPACT) : NULL;
    struct buf body = {0};
    json_t *methargs = NULL;

    if (text != NULL && buf_printf(&body, "#%s", text) == 0)
        methargs = json_pack("{s:s%, s:[]}", "body", body.data, (int)body.length, "slots");
    buf_free(&body);
    free(text);
    json_decref(encoded);
    json_decref(plain);
    return methargs;
}

static int take_short(struct delivery_line *line, const json_t *object, struct error *error)
{
    const json_t *method = json_object_get(object, "method");
    const json_t *args = json_object_get(object, "args");
    json_t *none = json_array();

    if (!json_is_string(method)) {
        json_decref(none);
        return error_set(error, ERROR_INPUT, "\"method\" must be a string; %s", shape);
    }
    if (args != NULL && !json_is_array(args)) {
        json_decref(none);
        return error_set(error, ERROR_INPUT, "\"args\" must be an array; %s", shape);
    }
    line->methargs = make_methargs(method, args != NULL ? args : none);
    line->target = strdup("o+0");
    line->wants_result = true;
    json_decref(none);
    if (line->methargs == NULL || line->target == NULL)
        return error_memory(error, "a delivery");
    return 0;
}

static int take_full(struct delivery_line *line, const json_t *deliver, struct error *error)
{
    const json_t *kind = json_array_get(deliver, 0);
    const json_t *target = json_array_get(deliver, 1);
    const json_t *message = json_array_get(deliver, 2);
    json_t *methargs = json_object_get(message, "methargs");

    if (!is_name(kind) || strcmp(json_string_value(kind), "message") != 0 ||
        json_array_size(deliver) != 3 || !is_name(target) || !vat_message_is_capdata(methargs) ||
        !json_is_null(json_object_get(message, "result")))
        return error_set(error, ERROR_INPUT,
                         "\"deliver\" must be [\"message\",TARGET,{\"methargs\":"
                         "{\"body\":STRING,\"slots\":[...]},\"result\":null}]");
    line->methargs = json_incref(methargs);
    line->target = strdup(json_string_value(target));
    if (line->target == NULL)
        return error_memory(error, "a delivery");
    return 0;
}

static int take_object(struct delivery_line *line, const json_t *object, struct error *error)
{
    const json_t *deliver = json_object_get(object, "deliver");

    if (!json_is_object(object))
        return error_set(error, ERROR_INPUT, "not a JSON object; %s", shape);
    if (check_fields(object, error) != 0)
        return -1;
    line->vat = strdup(json_string_value(json_object_get(object, "vat")));
    if (line->vat == NULL)
        return error_memory(error, "a delivery");
    if (deliver == NULL)
        return take_short(line, object, error);
    if (json_object_size(object) != 2)
        return error_set(error, ERROR_INPUT, "\"deliver\" stands beside \"vat\" alone");
    return take_full(line, deliver, error);
}

int delivery_line_parse(struct delivery_line *line, const char *text, size_t length,
                        struct error *error)
{
    json_error_t problem;
    json_t *object = json_loadb(text, length, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &problem);
    int result;

    memset(line, 0, sizeof *line);
    if (object == NULL)
        return error_set(error, ERROR_INPUT, "not JSON, at byte %d: %s; %s", problem.position,
                         problem.text, shape);
    result = take_object(line, object, error);
    json_decref(object);
    if (result != 0)
        delivery_line_free(line);
    return result;
}

void delivery_line_free(struct delivery_line *line)
{
    free(line->vat);
    free(line->target);
    json_decref(line->methargs);
    memset(line, 0, sizeof *line);
}
