/* SPDX-License-Identifier: Apache-2.0 */
#include "base/option/option_file.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/io.h"
#include "base/json/json_value.h"
#include "base/option/option.h"

enum { FILE_SIZE_MAX = 1 << 20 };

struct reading {
    struct option_list *arguments;
    const struct option_table *table;
    const char *path;
    size_t directory_length; /* length of the directory in `path`, with the last slash */
};

bool option_takes_path(const struct option_row *row)
{
    const char *value = row->metavariable != NULL ? row->metavariable : "";

    return strstr(value, "FILE") != NULL || strstr(value, "PATH") != NULL ||
           strstr(value, "DIR") != NULL;
}

static bool option_takes_json(const struct option_row *row)
{
    return row->metavariable != NULL && strstr(row->metavariable, "JSON") != NULL;
}

static int option_file_refuse(const struct reading *reading, const struct option_row *row,
                              const char *what, struct error *error)
{
    return error_set(error, ERROR_INPUT, "%s: \"%s\" must be %s", reading->path, row->name, what);
}

/* Takes the buffer's contents. */
static int option_file_add(const struct reading *reading, struct buf *argument, struct error *error)
{
    if (buf_string(argument) == NULL) {
        buf_free(argument);
        return error_memory(error, reading->path);
    }
    if (option_list_add(reading->arguments, argument->data, error) != 0) {
        buf_free(argument);
        return -1;
    }
    return 0;
}

/* `name` is that of a NAME=VALUE; else NULL. */
static int add_value(const struct reading *reading, const struct option_row *row, const char *name,
                     const json_t *value, struct error *error)
{
    const char *text = json_string_value(value);
    struct buf argument = {0};

    if (text == NULL && !json_is_number(value) && !option_takes_json(row))
        return option_file_refuse(reading, row, "text or a number", error);
    buf_printf(&argument, "--%s=", row->name);
    if (name != NULL)
        buf_printf(&argument, "%s=", name);
    if (text == NULL || option_takes_json(row))
        json_value_write(&argument, value);
    else if (option_takes_path(row) && text[0] != '/' && strcmp(text, "-") != 0)
        buf_printf(&argument, "%.*s%s", (int)reading->directory_length, reading->path, text);
    else
        buf_append_string(&argument, text);
    return option_file_add(reading, &argument, error);
}

static int add_flag(const struct reading *reading, const struct option_row *row,
                    const json_t *value, struct error *error)
{
    struct buf argument = {0};

    if (!json_is_boolean(value))
        return option_file_refuse(reading, row, "true or false", error);
    if (json_is_false(value))
        return 0;
    buf_printf(&argument, "--%s", row->name);
    return option_file_add(reading, &argument, error);
}

static int add_member(const struct reading *reading, const struct option_row *row, json_t *value,
                      struct error *error)
{
    const char *name;
    json_t *item;
    size_t i;
    int result = 0;

    if (row->kind == OPTION_FLAG)
        return add_flag(reading, row, value, error);
    if (json_is_object(value)) {
        json_object_foreach(value, name, item)
        {
            if (result == 0)
                result = add_value(reading, row, name, item, error);
        }
        return result;
    }
    if (!json_is_array(value))
        return add_value(reading, row, NULL, value, error);
    json_array_foreach(value, i, item)
    {
        if (result == 0)
            result = add_value(reading, row, NULL, item, error);
    }
    return result;
}

static int option_file_take_member(const struct reading *reading, const char *name, json_t *value,
                                   struct error *error)
{
    struct similar similar = {.word = name};

    for (size_t i = 0; i < reading->table->row_count; i++) {
        const struct option_row *row = &reading->table->rows[i];

        if (row->kind == OPTION_HEADING)
            continue;
        if (strcmp(row->name, name) == 0)
            return add_member(reading, row, value, error);
        similar_try(&similar, row->name);
    }
    return error_set(error, ERROR_INPUT, "%s: unknown option \"%.64s\"%s", reading->path, name,
                     similar_hint(&similar, ""));
}

static int take_object(const struct reading *reading, json_t *object, struct error *error)
{
    const char *name;
    json_t *value;
    int result = 0;

    if (!json_is_object(object))
        return error_set(error, ERROR_INPUT, "%s: is not a JSON object of options", reading->path);
    json_object_foreach(object, name, value)
    {
        if (result == 0)
            result = option_file_take_member(reading, name, value, error);
    }
    return result;
}

int option_file_read(struct option_list *arguments, const struct option_table *table,
                     const char *path, struct error *error)
{
    const char *slash = strrchr(path, '/');
    const struct reading reading = {
        .arguments = arguments,
        .table = table,
        .path = path,
        .directory_length = slash != NULL ? (size_t)(slash + 1 - path) : 0,
    };
    struct buf text = {0};
    json_error_t problem;
    json_t *object = NULL;
    int result = io_read_file(path, FILE_SIZE_MAX, &text, error);

    if (result == 0) {
        object = json_value_read(text.data, text.length, JSON_REJECT_DUPLICATES, &problem);
        result = object != NULL
                     ? take_object(&reading, object, error)
                     : error_set(error, ERROR_INPUT, "%s:%d: %s", path, problem.line, problem.text);
    }
    json_decref(object);
    buf_free(&text);
    return result;
}

void option_file_free(struct option_list *arguments)
{
    for (size_t i = 0; i < arguments->count; i++)
        free(arguments->items[i]);
    option_list_free(arguments);
}
