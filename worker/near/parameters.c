/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/near/parameters.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__asm__(".pushsection .rodata\n"
        "near_parameters_text:\n"
        ".incbin \"worker/near/parameters.txt\"\n"
        ".byte 0\n"
        ".popsection\n");

extern const char near_parameters_text[];

/* The number in that column of the line of that name, or NULL. */
static const char *find_number(const char *name, unsigned column)
{
    const size_t length = strlen(name);
    const char *line = near_parameters_text;

    while (line != NULL && (strncmp(line, name, length) != 0 || line[length] != ' ')) {
        line = strchr(line, '\n');
        if (line != NULL)
            line++;
    }
    if (line == NULL)
        return NULL;
    line += length + 1;
    for (; column > 0 && line != NULL; column--)
        line = strchr(line, ' ') != NULL ? strchr(line, ' ') + 1 : NULL;
    return line;
}

static int read_one(uint64_t *value, const char *name, unsigned column, struct error *error)
{
    const char *text = find_number(name, column);

    if (text == NULL)
        return error_set(error, ERROR_SYSTEM, "NEAR's parameters lack %s", name);
    *value = strtoull(text, NULL, 10);
    return 0;
}

int near_parameters_read(struct near_parameters *parameters, const char *version,
                         struct error *error)
{
    const unsigned column = strcmp(version, "newest") == 0;

    if (column == 0 && strcmp(version, "62") != 0)
        return error_set(error, ERROR_USAGE, "no parameters of protocol version '%s': 62, newest",
                         version);
#define X(name)                                                                                    \
    if (read_one(&parameters->name, #name, column, error) != 0)                                    \
        return -1;
    NEAR_PARAMETERS(X)
#undef X
    return 0;
}

static uint32_t limit(uint64_t value)
{
    return value < UINT32_MAX ? (uint32_t)value : UINT32_MAX;
}

struct wasm_limits near_module_limits(const struct near_parameters *parameters)
{
    /* All costs of operations are multiples of a regular one's. */
    const uint64_t regular = parameters->wasm_regular_op_cost;

    return (struct wasm_limits){
        .functions = limit(parameters->max_functions_number_per_contract),
        .locals = limit(parameters->max_locals_per_contract),
        .tables = limit(parameters->max_tables_per_contract),
        .table_elements = limit(parameters->max_elements_per_contract_table),
        .types = limit(parameters->max_types_per_contract),
        .parameters = limit(parameters->max_params_per_function),
        .function_body_bytes = limit(parameters->max_function_body_size),
        .function_blocks = limit(parameters->max_blocks_per_function),
        .module_blocks = limit(parameters->max_blocks_per_contract),
        .linear_base = (uint32_t)(parameters->wasm_linear_op_base_cost / regular),
        .linear_unit = (uint32_t)(parameters->wasm_linear_op_unit_cost / regular),
        .only_env_functions = true,
        .no_bulk_or_references = parameters->reftypes_bulk_memory == 0,
    };
}
