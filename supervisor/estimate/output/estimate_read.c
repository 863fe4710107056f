/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/estimate/output/estimate_read.h"

#include <math.h>
#include <string.h>

static double number_of(const json_t *line, const char *name)
{
    const json_t *value = json_object_get(line, name);

    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

static unsigned read_warnings(const json_t *names)
{
    const json_t *name;
    unsigned warnings = 0;
    size_t index;

    json_array_foreach(names, index, name)
    {
        for (size_t i = 0; json_is_string(name) && i < COST_WARNINGS; i++)
            if (strcmp(cost_warnings[i], json_string_value(name)) == 0)
                warnings |= 1U << i;
    }
    return warnings;
}

int estimate_read_cost(struct cost *cost, const json_t *line, struct error *error)
{
    const char *per = json_string_value(json_object_get(line, "per"));

    *cost = (struct cost){
        .operation = json_string_value(json_object_get(line, "operation")),
        .unit = per != NULL && strcmp(per, "operation") != 0 ? per : NULL,
        .amounts = {[MEASURE_INSTRUCTIONS] = number_of(line, "instructions"),
                    [MEASURE_COMPUTRONS] = number_of(line, "computrons"),
                    [MEASURE_BLOCK_COST] = number_of(line, "blockCost"),
                    [MEASURE_GAS] = (double)NAN},
        .gas = number_of(line, "gas"),
        .charged = number_of(line, "charged"),
        .ratio = number_of(line, "ratio"),
        .residual = number_of(line, "residual"),
        .warnings = read_warnings(json_object_get(line, "warnings")),
    };
    return cost->operation != NULL && per != NULL
               ? 0
               : error_set(error, ERROR_INPUT, "a cost has no operation, or is per nothing");
}
