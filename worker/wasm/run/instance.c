/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/wasm/run/instance.h"

#include <stdlib.h>
#include <string.h>

#include "worker/wasm/run/machine.h"

/* ---- linking ---- */

static bool range_fits(uint64_t size, bool has_maximum, uint32_t maximum,
                       const struct wasm_range *wanted)
{
    return size >= wanted->minimum &&
           (!wanted->has_maximum || (has_maximum && maximum <= wanted->maximum));
}

static const struct wasm_function_type *type_of_extern(const struct wasm_extern *given)
{
    if (given->function.call != NULL)
        return given->type;
    return wasm_type_of_function(given->function.instance->module, given->function.function);
}

static bool extern_fits(const struct wasm_module *module, const struct wasm_import *import,
                        const struct wasm_extern *given)
{
    if (given->kind != import->kind)
        return false;
    switch (import->kind) {
    case WASM_FUNCTION:
        return wasm_same_type(type_of_extern(given), wasm_type_of_function(module, import->index));
    case WASM_TABLE:
        return given->table->type == module->tables[import->index].type &&
               range_fits(given->table->count, given->table->has_maximum, given->table->maximum,
                          &module->tables[import->index].range);
    case WASM_MEMORY:
        return range_fits(wasm_memory_pages(given->memory), given->memory->has_maximum,
                          given->memory->maximum, &module->memories[import->index]);
    case WASM_GLOBAL:
        return given->global_type == module->globals[import->index].type &&
               given->global_is_mutable == module->globals[import->index].is_mutable;
    }
    return false;
}

static int link_import(struct wasm_instance *instance, const struct wasm_instance_options *options,
                       const struct wasm_import *import, struct error *error)
{
    struct wasm_extern given = {0};

    if (options->resolve(options->context, instance->module, import, &given, error) != 0)
        return -1;
    if (!extern_fits(instance->module, import, &given))
        return error_set(error, ERROR_INPUT, "incompatible import type: %.*s.%.*s",
                         (int)import->module.length, (const char *)import->module.data,
                         (int)import->name.length, (const char *)import->name.data);
    if (import->kind == WASM_FUNCTION)
        instance->functions[import->index] = given.function;
    else if (import->kind == WASM_TABLE)
        instance->tables[import->index] = given.table;
    else if (import->kind == WASM_MEMORY)
        instance->memory = given.memory;
    else
        instance->imported_globals[import->index] = given.global;
    return 0;
}

static int link_all(struct wasm_instance *instance, const struct wasm_instance_options *options,
                    struct error *error)
{
    for (uint32_t i = 0; i < instance->module->import_count; i++)
        if (link_import(instance, options, &instance->module->imports[i], error) != 0)
            return -1;
    return 0;
}

/* ---- making ---- */

static bool open_table(struct wasm_table *table, const struct wasm_table_type *type)
{
    *table = (struct wasm_table){
        .count = type->range.minimum,
        .initial = type->range.minimum,
        .maximum = type->range.maximum,
        .has_maximum = type->range.has_maximum,
        .type = type->type,
        .elements = calloc((size_t)type->range.minimum + 1, sizeof *table->elements),
    };
    return table->elements != NULL;
}

static bool open_tables(struct wasm_instance *instance)
{
    const struct wasm_module *module = instance->module;

    for (uint32_t i = module->imported_tables; i < module->table_count; i++) {
        struct wasm_table *table = &instance->own_tables[i - module->imported_tables];

        if (!open_table(table, &module->tables[i]))
            return false;
        instance->tables[i] = table;
    }
    return true;
}

static bool open_memory(struct wasm_memory *memory, uint8_t *place, uint32_t initial,
                        uint32_t maximum)
{
    return place != NULL ? wasm_memory_open_at(memory, place, initial, maximum)
                         : wasm_memory_open(memory, initial, maximum);
}

static bool open_instance_memory(struct wasm_instance *instance,
                                 const struct wasm_instance_options *options)
{
    enum { MOST_PAGES = 65536 };
    const struct wasm_module *module = instance->module;
    const struct wasm_range *range = module->memories;
    bool is_open;

    if (options->memory_initial != 0) {
        is_open = open_memory(&instance->own_memory, options->memory_place, options->memory_initial,
                              options->memory_maximum);
    } else if (module->memory_count == module->imported_memories) {
        return true;
    } else {
        is_open = open_memory(&instance->own_memory, options->memory_place, range->minimum,
                              range->has_maximum ? range->maximum : MOST_PAGES);
        instance->own_memory.has_maximum = range->has_maximum;
    }
    instance->memory = &instance->own_memory;
    return is_open;
}

static bool allocate(struct wasm_instance *instance)
{
    const struct wasm_module *module = instance->module;

    instance->functions = calloc(module->imported_functions + 1u, sizeof *instance->functions);
    instance->tables = calloc(module->table_count + 1u, sizeof(void *));
    instance->own_tables = calloc(module->table_count + 1u, sizeof *instance->own_tables);
    instance->globals = calloc(module->global_count + 1u, sizeof *instance->globals);
    instance->imported_globals = calloc(module->imported_globals + 1u, sizeof(void *));
    instance->dropped_data = calloc(module->data_count + 1u, sizeof *instance->dropped_data);
    instance->dropped_elements =
        calloc(module->element_count + 1u, sizeof *instance->dropped_elements);
    return instance->functions != NULL && instance->tables != NULL &&
           instance->own_tables != NULL && instance->globals != NULL &&
           instance->imported_globals != NULL && instance->dropped_data != NULL &&
           instance->dropped_elements != NULL;
}

static bool add_to_machine(struct wasm_machine *machine, struct wasm_instance *instance)
{
    struct wasm_instance **grown =
        reallocarray(machine->instances, (size_t)machine->instance_count + 1, sizeof(void *));

    if (grown == NULL)
        return false;
    machine->instances = grown;
    instance->number = machine->instance_count++;
    grown[instance->number] = instance;
    return true;
}

static void set_globals(struct wasm_instance *instance)
{
    const struct wasm_module *module = instance->module;

    for (uint32_t i = module->imported_globals; i < module->global_count; i++)
        instance->globals[i] = wasm_constant_value(instance, &module->globals[i].initial);
}

struct wasm_instance *wasm_instance_open(struct wasm_machine *machine,
                                         const struct wasm_instance_options *options,
                                         struct error *error)
{
    struct wasm_instance *instance = calloc(1, sizeof *instance);

    if (instance == NULL) {
        error_memory(error, "an instance of WebAssembly");
        return NULL;
    }
    instance->module = options->module;
    instance->codes = options->codes;
    if (!allocate(instance) || !open_tables(instance) || !open_instance_memory(instance, options)) {
        error_memory(error, "an instance of WebAssembly");
    } else if (link_all(instance, options, error) == 0) {
        if (add_to_machine(machine, instance)) {
            set_globals(instance);
            return instance;
        }
        error_memory(error, "an instance of WebAssembly");
    }
    wasm_instance_close(instance);
    return NULL;
}

void wasm_instance_close(struct wasm_instance *instance)
{
    if (instance == NULL)
        return;
    for (uint32_t i = 0; instance->own_tables != NULL && i < instance->module->table_count; i++)
        free(instance->own_tables[i].elements);
    wasm_memory_close(&instance->own_memory);
    free(instance->functions);
    free(instance->tables);
    free(instance->own_tables);
    free(instance->globals);
    free(instance->imported_globals);
    free(instance->dropped_data);
    free(instance->dropped_elements);
    free(instance);
}

/* ---- running ---- */

static bool reset_table(struct wasm_table *table)
{
    if (table->count != table->initial) {
        uint64_t *elements = calloc((size_t)table->initial + 1, sizeof *elements);

        if (elements == NULL)
            return false;
        free(table->elements);
        table->elements = elements;
        table->count = table->initial;
    }
    memset(table->elements, 0, table->count * sizeof *table->elements);
    return true;
}

enum wasm_trap wasm_instance_reset(struct wasm_instance *instance)
{
    const struct wasm_module *module = instance->module;

    memset(instance->dropped_data, 0, module->data_count * sizeof *instance->dropped_data);
    memset(instance->dropped_elements, 0,
           module->element_count * sizeof *instance->dropped_elements);
    for (uint32_t i = module->imported_tables; i < module->table_count; i++)
        if (!reset_table(instance->tables[i]))
            return WASM_TRAP_NO_MEMORY;
    set_globals(instance);
    if (instance->memory == &instance->own_memory && !wasm_memory_reset(instance->memory))
        return WASM_TRAP_NO_MEMORY;
    return WASM_TRAP_NONE;
}

static enum wasm_trap copy_elements(struct wasm_instance *instance, uint32_t number)
{
    const struct wasm_element_segment *segment = &instance->module->elements[number];
    enum wasm_trap trap = WASM_TRAP_NONE;

    if (segment->mode == WASM_SEGMENT_ACTIVE)
        trap = wasm_table_init(instance, segment->table, number,
                               (uint32_t)wasm_constant_value(instance, &segment->offset), 0,
                               segment->count);
    if (segment->mode != WASM_SEGMENT_PASSIVE)
        instance->dropped_elements[number] = true;
    return trap;
}

static enum wasm_trap copy_data(struct wasm_instance *instance, uint32_t number)
{
    const struct wasm_data_segment *segment = &instance->module->data[number];
    enum wasm_trap trap = WASM_TRAP_NONE;

    if (segment->mode != WASM_SEGMENT_ACTIVE)
        return WASM_TRAP_NONE;
    trap = wasm_memory_init(instance, number,
                            (uint32_t)wasm_constant_value(instance, &segment->offset), 0,
                            segment->bytes.length);
    instance->dropped_data[number] = true;
    return trap;
}

enum wasm_trap wasm_instance_copy_segments(struct wasm_instance *instance)
{
    const struct wasm_module *module = instance->module;
    enum wasm_trap trap = WASM_TRAP_NONE;

    for (uint32_t i = 0; i < module->element_count && trap == WASM_TRAP_NONE; i++)
        trap = copy_elements(instance, i);
    for (uint32_t i = 0; i < module->data_count && trap == WASM_TRAP_NONE; i++)
        trap = copy_data(instance, i);
    return trap;
}

enum wasm_trap wasm_instance_start(struct wasm_machine *machine, struct wasm_instance *instance)
{
    enum wasm_trap trap = wasm_instance_copy_segments(instance);

    if (trap == WASM_TRAP_NONE && instance->module->has_start)
        trap = wasm_call(machine, instance, instance->module->start, NULL);
    return trap;
}

bool wasm_instance_export(struct wasm_instance *instance, const char *name, size_t length,
                          struct wasm_extern *given)
{
    const struct wasm_module *module = instance->module;
    const struct wasm_export *export = wasm_module_export(module, name, length);

    if (export == NULL)
        return false;
    *given = (struct wasm_extern){.kind = export->kind};
    if (export->kind == WASM_FUNCTION) {
        given->function.instance = instance;
        given->function.function = export->index;
    } else if (export->kind == WASM_TABLE) {
        given->table = instance->tables[export->index];
    } else if (export->kind == WASM_MEMORY) {
        given->memory = instance->memory;
    } else {
        given->global = export->index < module->imported_globals
                            ? instance->imported_globals[export->index]
                            : &instance->globals[export->index];
        given->global_type = module->globals[export->index].type;
        given->global_is_mutable = module->globals[export->index].is_mutable;
    }
    return true;
}
