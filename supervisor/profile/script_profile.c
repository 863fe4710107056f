/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/profile/script_profile.h"

#include <jansson.h>

#include "base/json/json_value.h"
#include "base/number.h"

static int bad(struct error *error, const char *what)
{
    return error_set(error, ERROR_INPUT, "invalid profile from a worker: %s", what);
}

/* NULL becomes NULL. False without memory. */
static bool copy_text(struct profile *profile, const json_t *row, size_t index, const char **copy)
{
    const char *const text = json_string_value(json_array_get(row, index));

    *copy = text != NULL ? profile_texts_copy(&profile->texts, text) : NULL;
    return (text == NULL) == (*copy == NULL);
}

static bool number_at(const json_t *row, size_t index, int64_t *number)
{
    const json_t *value = json_array_get(row, index);

    *number = json_integer_value(value);
    return json_is_integer(value);
}

static bool cost_at(const json_t *row, size_t index, struct profile_cost *cost)
{
    return number_at(row, index, &cost->of[0]) && number_at(row, index + 1, &cost->of[1]) &&
           cost->of[1] >= 0;
}

static int read_function(struct profile *profile, const json_t *row, struct error *error)
{
    struct profile_function *const function = profile_add_function(profile);

    if (function == NULL || !copy_text(profile, row, 0, &function->name) ||
        !copy_text(profile, row, 1, &function->file))
        return error_memory(error, "a profile");
    return function->name != NULL && number_at(row, 2, &function->line)
               ? 0
               : bad(error, "a function is not [NAME,FILE,LINE]");
}

/* The first node is the engine, which the profile has as nodes[1]. */
static int read_node(struct profile *profile, const json_t *row, struct error *error)
{
    const int64_t index = (int64_t)profile->node_count - 1;
    int64_t caller, function;
    struct profile_node node;
    size_t added;

    if (!number_at(row, 0, &caller) || !number_at(row, 1, &function) ||
        !number_at(row, 2, &node.calls) || !cost_at(row, 3, &node.self) || caller < 0 ||
        (index > 0 && caller >= index) || function < 0 ||
        (size_t)function >= profile->function_count)
        return bad(error, "a node is not [CALLER,FUNCTION,CALLS,COMPUTRONS,INSTRUCTIONS]");
    added = profile_add_node(profile, index > 0 ? (size_t)caller + 1 : 0, (size_t)function);
    if (added == 0)
        return error_memory(error, "a profile");
    profile->nodes[added].calls = node.calls;
    profile->nodes[added].self = node.self;
    return 0;
}

static int read_line(struct profile *profile, const json_t *row, struct error *error)
{
    struct profile_line *const line = profile_add_line(profile);

    if (line == NULL || !copy_text(profile, row, 0, &line->file))
        return error_memory(error, "a profile");
    line->function = PROFILE_NO_FUNCTION;
    return number_at(row, 1, &line->line) && cost_at(row, 2, &line->self)
               ? 0
               : bad(error, "a line is not [FILE,LINE,COMPUTRONS,INSTRUCTIONS]");
}

static int read_all(struct profile *profile, const json_t *document, const char *member,
                    int (*read_one)(struct profile *, const json_t *, struct error *),
                    struct error *error)
{
    const json_t *const rows = json_object_get(document, member);
    const json_t *row;
    size_t i;

    if (json_array_size(rows) == 0)
        return bad(error, "it has no functions, nodes or lines");
    json_array_foreach((json_t *)rows, i, row)
    {
        if (read_one(profile, row, error) != 0)
            return -1;
    }
    return 0;
}

/* What the worker spent around the command itself. */
static void give_rest_to_engine(struct profile *profile, int64_t instructions)
{
    struct profile_cost rest = {.of = {0, instructions}};

    for (size_t i = 1; i < profile->node_count; i++)
        rest.of[1] = saturate_subtract(rest.of[1], profile->nodes[i].self.of[1]);
    profile_cost_add(&profile->nodes[1].self, &rest);
    profile_cost_add(&profile->lines[0].self, &rest);
}

static int read_document(struct profile *profile, const json_t *document, int64_t instructions,
                         struct error *error)
{
    if (read_all(profile, document, "functions", read_function, error) != 0 ||
        read_all(profile, document, "nodes", read_node, error) != 0 ||
        read_all(profile, document, "lines", read_line, error) != 0)
        return -1;
    if (instructions >= 0) {
        profile->units[profile->unit_count++] = PROFILE_INSTRUCTIONS;
        give_rest_to_engine(profile, instructions);
    }
    return profile_sum(profile, error);
}

int script_profile_read(struct profile *profile, struct iovec json, int64_t instructions,
                        struct error *error)
{
    json_t *document;
    int result;

    if (!profile_init(profile, PROFILE_COMPUTRONS))
        return error_memory(error, "a profile");
    profile->has_root = true;
    document = json_value_read(json.iov_base, json.iov_len, JSON_DECODE_ANY, NULL);
    result = document != NULL ? read_document(profile, document, instructions, error)
                              : bad(error, "it is not JSON");
    json_decref(document);
    return result;
}
