/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/output/trace_functions.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "slog/read/reader.h"
#include "tools/input/profile_tree.h"

static int trace_functions_keep(struct trace_functions *functions, const struct reader_line *line,
                                const json_t *tree, struct error *error)
{
    struct kept_tree *const trees =
        array_reserve(functions->trees, &functions->capacity, functions->count + 1, sizeof *trees);
    struct kept_tree *kept;

    if (trees == NULL)
        return error_memory(error, "a profile");
    functions->trees = trees;
    kept = &trees[functions->count];
    *kept = (struct kept_tree){
        .vat_id = strdup(json_string_value(json_object_get(tree, "vatID"))),
        .line = malloc(line->length),
        .delivery_num = json_integer_value(json_object_get(tree, "deliveryNum")),
        .length = line->length,
        .order = functions->count,
    };
    functions->count++;
    functions->sorted = 0;
    if (kept->vat_id == NULL || kept->line == NULL)
        return error_memory(error, "a profile");
    memcpy(kept->line, line->bytes, line->length);
    return 0;
}

/* Those of other profiles have no times. */
static int on_tree(void *context, const json_t *tree, const struct reader_line *line,
                   struct error *error)
{
    return json_array_size(json_object_get(tree, "spans")) > 0
               ? trace_functions_keep(context, line, tree, error)
               : 0;
}

int trace_functions_add(struct trace_functions *functions, const char *path, struct error *error)
{
    return profile_tree_read(path, on_tree, functions, error);
}

void trace_functions_free(struct trace_functions *functions)
{
    for (size_t i = 0; i < functions->count; i++) {
        free(functions->trees[i].vat_id);
        free(functions->trees[i].line);
    }
    free(functions->trees);
    *functions = (struct trace_functions){0};
}

static int compare_deliveries(const struct kept_tree *a, const struct kept_tree *b)
{
    const int vats = strcmp(a->vat_id, b->vat_id);

    if (vats != 0)
        return vats;
    return (a->delivery_num > b->delivery_num) - (a->delivery_num < b->delivery_num);
}

static int by_delivery(const void *a, const void *b)
{
    const struct kept_tree *const x = a, *const y = b;
    const int deliveries = compare_deliveries(x, y);

    return deliveries != 0 ? deliveries : (x->order > y->order) - (x->order < y->order);
}

json_t *trace_functions_find(struct trace_functions *functions, const char *vat_id,
                             int64_t delivery_num)
{
    const struct kept_tree wanted = {.vat_id = (char *)vat_id, .delivery_num = delivery_num};
    size_t low = 0, high = functions->count;

    if (functions->count == 0)
        return NULL;
    if (!functions->sorted)
        qsort(functions->trees, functions->count, sizeof *functions->trees, by_delivery);
    functions->sorted = 1;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (compare_deliveries(&functions->trees[middle], &wanted) <= 0)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0 || compare_deliveries(&functions->trees[low - 1], &wanted) != 0)
        return NULL;
    return json_loadb(functions->trees[low - 1].line, functions->trees[low - 1].length, 0, NULL);
}
