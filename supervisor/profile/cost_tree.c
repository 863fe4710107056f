/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/profile/cost_tree.h"

#include <stdlib.h>

#include "base/json/json_value.h"
#include "base/saturate.h"

static int bad(struct error *error, const char *what)
{
    return error_set(error, ERROR_INPUT, "a worker's profile is none: %s", what);
}

static const char *text_at(const json_t *row, size_t index)
{
    return json_string_value(json_array_get(row, index));
}

static bool number_at(const json_t *row, size_t index, int64_t *number)
{
    const json_t *value = json_array_get(row, index);

    *number = json_integer_value(value);
    return json_is_integer(value);
}

static bool sums_at(const json_t *row, size_t index, struct cost_sums *sums)
{
    return number_at(row, index, &sums->computrons) &&
           number_at(row, index + 1, &sums->instructions) && sums->instructions >= 0;
}

static bool read_function(struct cost_function *function, const json_t *row)
{
    function->name = text_at(row, 0);
    function->file = text_at(row, 1);
    return function->name != NULL && number_at(row, 2, &function->line);
}

static bool read_node(struct cost_tree *tree, size_t index, const json_t *row)
{
    struct cost_node *node = &tree->nodes[index];
    int64_t caller, function;

    if (!number_at(row, 0, &caller) || !number_at(row, 1, &function) ||
        !number_at(row, 2, &node->calls) || !sums_at(row, 3, &node->self) || caller < 0 ||
        (index > 0 && (size_t)caller >= index) || function < 0 ||
        (size_t)function >= tree->function_count)
        return false;
    node->caller = index > 0 ? (size_t)caller : 0;
    node->function = (size_t)function;
    return true;
}

static bool read_line(struct cost_line *line, const json_t *row)
{
    line->file = text_at(row, 0);
    return number_at(row, 1, &line->line) && sums_at(row, 2, &line->self);
}

static int read_rows(struct cost_tree *tree, struct error *error)
{
    const json_t *functions = json_object_get(tree->document, "functions");
    const json_t *nodes = json_object_get(tree->document, "nodes");
    const json_t *lines = json_object_get(tree->document, "lines");

    tree->function_count = json_array_size(functions);
    tree->node_count = json_array_size(nodes);
    tree->line_count = json_array_size(lines);
    if (tree->node_count == 0 || tree->function_count == 0 || tree->line_count == 0)
        return bad(error, "it has no functions, nodes or lines");
    tree->functions = calloc(tree->function_count, sizeof *tree->functions);
    tree->nodes = calloc(tree->node_count, sizeof *tree->nodes);
    tree->lines = calloc(tree->line_count, sizeof *tree->lines);
    if (tree->functions == NULL || tree->nodes == NULL || tree->lines == NULL)
        return error_memory(error, "a profile");
    for (size_t i = 0; i < tree->function_count; i++)
        if (!read_function(&tree->functions[i], json_array_get(functions, i)))
            return bad(error, "a function is not [NAME,FILE,LINE]");
    for (size_t i = 0; i < tree->node_count; i++)
        if (!read_node(tree, i, json_array_get(nodes, i)))
            return bad(error, "a node is not [CALLER,FUNCTION,CALLS,COMPUTRONS,INSTRUCTIONS]");
    for (size_t i = 0; i < tree->line_count; i++)
        if (!read_line(&tree->lines[i], json_array_get(lines, i)))
            return bad(error, "a line is not [FILE,LINE,COMPUTRONS,INSTRUCTIONS]");
    return 0;
}

static void cost_tree_add(struct cost_sums *sums, struct cost_sums more)
{
    sums->computrons = saturate_add(sums->computrons, more.computrons);
    sums->instructions = saturate_add(sums->instructions, more.instructions);
}

/* What the worker spent around the command itself. */
static void give_rest_to_engine(struct cost_tree *tree, int64_t instructions)
{
    struct cost_sums rest = {.instructions = instructions};

    for (size_t i = 0; i < tree->node_count; i++)
        rest.instructions = saturate_subtract(rest.instructions, tree->nodes[i].self.instructions);
    cost_tree_add(&tree->nodes[0].self, rest);
    cost_tree_add(&tree->lines[0].self, rest);
}

static bool is_called_by_itself(const struct cost_tree *tree, size_t index)
{
    const size_t function = tree->nodes[index].function;

    while (index > 0) {
        index = tree->nodes[index].caller;
        if (tree->nodes[index].function == function)
            return true;
    }
    return false;
}

/* A caller stands before what it calls. */
static void add_up(struct cost_tree *tree)
{
    for (size_t i = tree->node_count; i-- > 0;) {
        struct cost_node *node = &tree->nodes[i];
        struct cost_function *function = &tree->functions[node->function];

        cost_tree_add(&node->total, node->self);
        if (i > 0)
            cost_tree_add(&tree->nodes[node->caller].total, node->total);
        function->calls = saturate_add(function->calls, node->calls);
        cost_tree_add(&function->self, node->self);
        if (!is_called_by_itself(tree, i))
            cost_tree_add(&function->total, node->total);
    }
}

int cost_tree_read(struct cost_tree *tree, struct iovec profile, int64_t instructions,
                   struct error *error)
{
    *tree = (struct cost_tree){0};
    tree->document = json_value_read(profile.iov_base, profile.iov_len, JSON_DECODE_ANY, NULL);
    if (tree->document == NULL)
        return bad(error, "it is not JSON");
    if (read_rows(tree, error) != 0) {
        cost_tree_free(tree);
        return -1;
    }
    if (instructions >= 0)
        give_rest_to_engine(tree, instructions);
    add_up(tree);
    return 0;
}

void cost_tree_free(struct cost_tree *tree)
{
    json_decref(tree->document);
    free(tree->nodes);
    free(tree->functions);
    free(tree->lines);
    *tree = (struct cost_tree){0};
}
