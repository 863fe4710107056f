/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/json/json_value.h"
#include "base/lines.h"
#include "base/visible.h"
#include "supervisor/estimate/output/estimate_print.h"
#include "supervisor/estimate/output/estimate_read.h"
#include "supervisor/fleet/collect/collection.h"

struct gathering {
    struct estimate estimate;
    size_t capacity; /* of its costs */
    json_t *lines;   /* that its text is borrowed from; owned */
};

static int add_cost(struct gathering *gathering, const json_t *line, struct error *error)
{
    struct costs *costs = &gathering->estimate.costs;
    struct cost *items =
        array_reserve(costs->items, &gathering->capacity, costs->count + 1, sizeof *items);

    if (items == NULL)
        return error_memory(error, "the costs");
    costs->items = items;
    if (estimate_read_cost(&items[costs->count], line, error) != 0)
        return -1;
    costs->count++;
    return 0;
}

/* All operations are of one suite, and their workers had one fingerprint. */
static void take_summary(struct estimate *estimate, const json_t *line)
{
    const char *suite = json_string_value(json_object_get(line, "suite")),
               *fingerprint = json_string_value(json_object_get(line, "fingerprint"));

    if (suite != NULL)
        estimate->suite = suite;
    if (fingerprint != NULL)
        snprintf(estimate->fingerprint, sizeof estimate->fingerprint, "%s", fingerprint);
}

static int collect_costs_take_line(struct gathering *gathering, const char *text, size_t length,
                                   struct error *error)
{
    json_t *line = json_value_read(text, length, 0, NULL);
    const char *kind = json_string_value(json_object_get(line, "kind"));

    if (json_array_append_new(gathering->lines, line) != 0)
        return error_set(error, ERROR_INPUT, "a result is damaged");
    if (kind != NULL && strcmp(kind, "cost") == 0)
        return add_cost(gathering, line, error);
    if (kind != NULL && strcmp(kind, "summary") == 0)
        take_summary(&gathering->estimate, line);
    return 0;
}

static int take_costs(void *context, const struct buf *result, struct error *error)
{
    size_t place = 0, length;
    const char *line;

    while (lines_next(result, &place, &line, &length))
        if (collect_costs_take_line(context, line, length, error) != 0)
            return -1;
    return 0;
}

static int collect_costs_print(struct gathering *gathering, bool json, struct error *error)
{
    struct buf out = {0};
    int result = 0;

    costs_sort(&gathering->estimate.costs);
    (json ? estimate_print_json : estimate_print_table)(&out, &gathering->estimate);
    if (buf_failed(&out))
        result = error_memory(error, "the costs");
    else if (visible_write(STDOUT_FILENO, out.data, out.length) != 0)
        result = error_system(error, errno, "cannot write the costs to stdout");
    buf_free(&out);
    return result;
}

int collect_costs(struct collection *collection, struct error *error)
{
    struct gathering gathering = {.estimate = {.suite = "", .label = ""}, .lines = json_array()};
    int result = gathering.lines != NULL ? 0 : error_memory(error, "the costs");

    if (result == 0)
        result = collection_each(collection, take_costs, &gathering, error);
    if (result == 0)
        result = collect_costs_print(&gathering, collection->options->replay.json, error);
    free(gathering.estimate.costs.items);
    json_decref(gathering.lines);
    return result == 0 ? collection_status(collection) : -1;
}
