/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/html/page_profiles.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdbool.h>
#include <string.h>

#include "base/buf.h"
#include "slog/read/reader.h"

/* A node of a profile of time has one number more. */
enum { NODE_MEMBERS = 5, TIME_NODE_MEMBERS = 6, FUNCTION_MEMBERS = 3, SPAN_MEMBERS = 3 };

/* ---- the shape that the page relies on ---- */

static bool is_function(const json_t *function)
{
    return json_array_size(function) == FUNCTION_MEMBERS &&
           json_is_string(json_array_get(function, 0));
}

static bool is_index(const json_t *number, size_t below)
{
    return json_is_integer(number) && json_integer_value(number) >= 0 &&
           (uint64_t)json_integer_value(number) < below;
}

/* Its caller comes before it. */
static bool is_node(const json_t *node, size_t index, size_t functions)
{
    const json_t *caller = json_array_get(node, 0);
    const size_t members = json_array_size(node);

    if ((members != NODE_MEMBERS && members != TIME_NODE_MEMBERS) ||
        !(json_is_null(caller) || is_index(caller, index)) ||
        !is_index(json_array_get(node, 1), functions))
        return false;
    for (size_t i = 2; i < members; i++)
        if (!json_is_integer(json_array_get(node, i)) && !json_is_null(json_array_get(node, i)))
            return false;
    return true;
}

/* A node, when it began and how long it took. */
static bool is_span(const json_t *span, size_t nodes)
{
    return json_array_size(span) == SPAN_MEMBERS && is_index(json_array_get(span, 0), nodes) &&
           is_index(json_array_get(span, 1), (size_t)INT64_MAX) &&
           is_index(json_array_get(span, 2), (size_t)INT64_MAX);
}

static bool are_spans(const json_t *spans, size_t nodes)
{
    for (size_t i = 0; i < json_array_size(spans); i++)
        if (!is_span(json_array_get(spans, i), nodes))
            return false;
    return spans == NULL || json_is_array(spans);
}

static bool is_tree(const json_t *tree)
{
    const json_t *functions = json_object_get(tree, "functions");
    const json_t *nodes = json_object_get(tree, "nodes");

    if (!json_is_string(json_object_get(tree, "vatID")) ||
        !json_is_integer(json_object_get(tree, "deliveryNum")) || !json_is_array(functions) ||
        !json_is_array(nodes))
        return false;
    for (size_t i = 0; i < json_array_size(functions); i++)
        if (!is_function(json_array_get(functions, i)))
            return false;
    for (size_t i = 0; i < json_array_size(nodes); i++)
        if (!is_node(json_array_get(nodes, i), i, json_array_size(functions)))
            return false;
    return are_spans(json_object_get(tree, "spans"), json_array_size(nodes));
}

/* ---- lines ---- */

static int put_tree(struct page_profiles *profiles, struct page_file *file,
                    const struct reader_line *line, uint64_t limit, struct error *error)
{
    struct buf json = {0};
    int result;

    if (line->length > limit || profiles->bytes > limit - line->length) {
        profiles->hidden++;
        return 0;
    }
    buf_append(&json, line->bytes, line->length);
    result = page_file_add(file, "profile", &json, error);
    buf_free(&json);
    profiles->trees++;
    profiles->bytes += line->length;
    return result;
}

/* The other kinds say nothing that a tree does not. */
static int add_line(struct page_profiles *profiles, struct page_file *file, const char *path,
                    const struct reader_line *line, uint64_t limit, struct error *error)
{
    json_t *parsed;
    const char *kind;
    int result = 0;

    if (line->length == 0 || line->torn)
        return 0;
    parsed = line->too_long ? NULL : json_loadb(line->bytes, line->length, 0, NULL);
    kind = json_string_value(json_object_get(parsed, "kind"));
    if (kind == NULL || (strcmp(kind, "tree") == 0 && !is_tree(parsed)))
        result = error_set(error, ERROR_INPUT,
                           "%s:%" PRIu64 ": not a line of a profile, as gaspipe run --profile or "
                           "--native-profile writes it",
                           path, line->number);
    else if (strcmp(kind, "tree") == 0)
        result = put_tree(profiles, file, line, limit, error);
    json_decref(parsed);
    return result;
}

int page_profiles_add(struct page_profiles *profiles, struct page_file *file, const char *path,
                      uint64_t limit, struct error *error)
{
    struct reader *reader = reader_open(path, error);
    struct reader_line line;
    int result;

    if (reader == NULL)
        return -1;
    while ((result = reader_next(reader, false, &line, error)) == 1 &&
           add_line(profiles, file, path, &line, limit, error) == 0)
        continue;
    reader_close(reader);
    return result == 0 ? 0 : -1;
}
