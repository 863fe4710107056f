/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/near/call/parameters.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/embed.h"

EMBED(near_parameters, "worker/near/call/parameters.txt");

static const char *const cost_names[] = {
#define X(name) #name,
    NEAR_COSTS(X)
#undef X
};

static const char *const fee_names[] = {
#define X(name, parameter) #name,
    NEAR_FEES(X)
#undef X
};

const char *near_cost_name(enum near_cost cost)
{
    return cost_names[cost];
}

const char *near_fee_name(enum near_fee_kind fee)
{
    return fee_names[fee];
}

/* Reads a version's parameters, mostly in the order of the file. */
struct reading {
    unsigned version;
    const char *line; /* after the line read last */
};

static const char *next_line(const char *line)
{
    line = strchr(line, '\n') + 1;
    return *line != '\0' ? line : near_parameters_begin;
}

/* Returns the text after a name in its line, or NULL. */
static const char *find_parameter_line(struct reading *reading, const char *name)
{
    const size_t length = strlen(name);
    const char *line = reading->line;

    do {
        const bool found = strncmp(line, name, length) == 0 && line[length] == ' ';
        const char *values = line + length;

        line = next_line(line);
        if (found) {
            reading->line = line;
            return values;
        }
    } while (line != reading->line);
    return NULL;
}

/* Reads the value of the last change up to that version. */
static int read_parameter(uint64_t *value, const char *name, struct reading *reading,
                          struct error *error)
{
    const char *line = find_parameter_line(reading, name);
    bool found = false;

    while (line != NULL && *line == ' ') {
        char *at, *end;
        const bool counts = strtoul(line, &at, 10) <= reading->version;
        const uint64_t number = strtoull(at, &end, 10);

        if (counts)
            *value = number;
        found = found || counts;
        line = end;
    }
    return found ? 0 : error_set(error, ERROR_SYSTEM, "NEAR's parameters lack %s", name);
}

static int read_fee(struct near_fee *fee, const char *const names[3], struct reading *reading,
                    struct error *error)
{
    return read_parameter(&fee->send_sir, names[0], reading, error) == 0 &&
                   read_parameter(&fee->send_not_sir, names[1], reading, error) == 0 &&
                   read_parameter(&fee->execution, names[2], reading, error) == 0
               ? 0
               : -1;
}

static int read_costs(struct near_parameters *parameters, struct reading *reading,
                      struct error *error)
{
    static const char *const names[] = {
#define X(name) "wasm_" #name,
        NEAR_COSTS(X)
#undef X
    };
    static const char *const fees[][3] = {
#define X(name, parameter)                                                                         \
    {#parameter "_send_sir", #parameter "_send_not_sir", #parameter "_execution"},
        NEAR_FEES(X)
#undef X
    };

    for (size_t i = 0; i < NEAR_COST_COUNT; i++)
        if (read_parameter(&parameters->cost[i], names[i], reading, error) != 0)
            return -1;
    for (size_t i = 0; i < NEAR_FEE_COUNT; i++)
        if (read_fee(&parameters->fee[i], fees[i], reading, error) != 0)
            return -1;
    return 0;
}

/* Sets the version that is meant. */
static int read_version(struct reading *reading, const char *text, struct error *error)
{
    uint64_t stable, nightly;
    char *end;
    const unsigned long number = strtoul(text, &end, 10);

    if (read_parameter(&stable, "stable", reading, error) != 0 ||
        read_parameter(&nightly, "nightly", reading, error) != 0)
        return -1;
    if (strcmp(text, "newest") == 0)
        reading->version = (unsigned)stable;
    else if (*end == '\0' && number >= NEAR_PROTOCOL_FIRST && number <= nightly)
        reading->version = (unsigned)number;
    else
        return error_set(
            error, ERROR_USAGE,
            "no parameters of protocol version '%.32s'; expected %d to %u, or up to %u "
            "for what is not released",
            text, NEAR_PROTOCOL_FIRST, (unsigned)stable, (unsigned)nightly);
    return 0;
}

int near_parameters_read(struct near_parameters *parameters, const char *version,
                         struct error *error)
{
    struct reading reading = {NEAR_PROTOCOL_FIRST, near_parameters_begin};

    if (read_version(&reading, version, error) != 0 || read_costs(parameters, &reading, error) != 0)
        return -1;
#define X(name)                                                                                    \
    if (read_parameter(&parameters->name, #name, &reading, error) != 0)                            \
        return -1;
    NEAR_SETTINGS(X)
#undef X
    return 0;
}

static uint32_t limit(uint64_t value)
{
    return value < UINT32_MAX ? (uint32_t)value : UINT32_MAX;
}

struct wasm_limits near_module_limits(const struct near_parameters *parameters)
{
    /* The costs of all operations are multiples of the regular one's. */
    const uint64_t regular = parameters->wasm_regular_op_cost;

    return (struct wasm_limits){
        .functions = limit(parameters->max_functions_number_per_contract),
        .locals = limit(parameters->max_locals_per_contract),
        .tables = limit(parameters->max_tables_per_contract),
        .table_elements = limit(parameters->max_elements_per_contract_table),
        .types = limit(parameters->max_types_per_contract),
        .globals = limit(parameters->max_globals_per_contract),
        .function_parameters = limit(parameters->max_params_per_function),
        .module_parameters = limit(parameters->max_params_per_contract),
        .operand_bytes = limit(parameters->max_operand_stack_bytes_per_function),
        .function_body_bytes = limit(parameters->max_function_body_size),
        .function_blocks = limit(parameters->max_blocks_per_function),
        .module_blocks = limit(parameters->max_blocks_per_contract),
        .linear_base = (uint32_t)(parameters->wasm_linear_op_base_cost / regular),
        .linear_unit = (uint32_t)(parameters->wasm_linear_op_unit_cost / regular),
        .only_env_functions = true,
        .no_bulk_or_references = parameters->reftypes_bulk_memory == 0,
        .no_saturating = parameters->saturating_float_to_int == 0,
        .no_multi_value = true,
    };
}
