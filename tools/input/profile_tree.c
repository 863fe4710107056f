/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/input/profile_tree.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* A node of a profile of time has one number more, and one of block cost two. */
enum { NODE_MEMBERS = 5, NODE_MEMBERS_MOST = 7, FUNCTION_MEMBERS = 3, SPAN_MEMBERS = 3 };

static bool is_function_entry(const json_t *function)
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

    if (members < NODE_MEMBERS || members > NODE_MEMBERS_MOST ||
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

/* All indices are in range, and a node comes after its caller. */
static bool is_tree(const json_t *tree)
{
    const json_t *functions = json_object_get(tree, "functions");
    const json_t *nodes = json_object_get(tree, "nodes");

    if (!json_is_string(json_object_get(tree, "vatID")) ||
        !json_is_integer(json_object_get(tree, "deliveryNum")) || !json_is_array(functions) ||
        !json_is_array(nodes))
        return false;
    for (size_t i = 0; i < json_array_size(functions); i++)
        if (!is_function_entry(json_array_get(functions, i)))
            return false;
    for (size_t i = 0; i < json_array_size(nodes); i++)
        if (!is_node(json_array_get(nodes, i), i, json_array_size(functions)))
            return false;
    return are_spans(json_object_get(tree, "spans"), json_array_size(nodes));
}

struct tree_reading {
    const char *path;
    profile_tree_sink *on_tree;
    void *context;
};

static int read_tree_line(const struct tree_reading *reading, const struct reader_line *line,
                          struct error *error)
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
                           "%s:%" PRIu64 ": not a line of a profile, as gaspipe run --profile, "
                           "--native-profile or gaspipe trace --profile writes it",
                           reading->path, line->number);
    else if (strcmp(kind, "tree") == 0)
        result = reading->on_tree(reading->context, parsed, line, error);
    json_decref(parsed);
    return result;
}

int profile_tree_read(const char *path, profile_tree_sink *on_tree, void *context,
                      struct error *error)
{
    const struct tree_reading reading = {path, on_tree, context};
    struct reader *const reader = reader_open(path, error);
    struct reader_line line;
    int result;

    if (reader == NULL)
        return -1;
    while ((result = reader_next(reader, false, &line, error)) == 1 &&
           read_tree_line(&reading, &line, error) == 0)
        continue;
    reader_close(reader);
    return result == 0 ? 0 : -1;
}
