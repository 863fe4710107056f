/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/wasm/run/bulk.h"

#include <stdlib.h>
#include <string.h>

/* A table's size is no part of NEAR's limits once it grows: this is what keeps it in bounds. */
enum { MOST_ELEMENTS = 10 * 1000 * 1000 };

enum wasm_trap wasm_memory_copy(struct wasm_memory *memory, uint32_t to, uint32_t from,
                                uint32_t count)
{
    if (!wasm_memory_has(memory, to, count) || !wasm_memory_has(memory, from, count))
        return WASM_TRAP_MEMORY;
    memmove(memory->bytes + to, memory->bytes + from, count);
    return WASM_TRAP_NONE;
}

enum wasm_trap wasm_memory_fill(struct wasm_memory *memory, uint32_t to, uint32_t byte,
                                uint32_t count)
{
    if (!wasm_memory_has(memory, to, count))
        return WASM_TRAP_MEMORY;
    /* memset() of 0 bytes may store under an empty mask, which takes long in a page that was not
     * written yet. */
    if (count != 0)
        memset(memory->bytes + to, (int)(byte & 0xff), count);
    return WASM_TRAP_NONE;
}

enum wasm_trap wasm_memory_init(struct wasm_instance *instance, uint32_t segment, uint32_t to,
                                uint32_t from, uint32_t count)
{
    const struct wasm_bytes bytes = instance->module->data[segment].bytes;
    const uint32_t length = instance->dropped_data[segment] ? 0 : bytes.length;

    if (!wasm_memory_has(instance->memory, to, count) || from > length || count > length - from)
        return WASM_TRAP_MEMORY;
    if (count != 0)
        memcpy(instance->memory->bytes + to, bytes.data + from, count);
    return WASM_TRAP_NONE;
}

static bool table_has(const struct wasm_table *table, uint32_t from, uint32_t count)
{
    return from <= table->count && count <= table->count - from;
}

uint32_t wasm_table_grow(struct wasm_table *table, uint64_t value, uint32_t count)
{
    const uint32_t before = table->count;
    uint64_t *grown;

    if (count > table->maximum - before || before + (uint64_t)count > MOST_ELEMENTS)
        return UINT32_MAX;
    if (count == 0)
        return before;
    grown = reallocarray(table->elements, (size_t)before + count, sizeof *grown);
    if (grown == NULL)
        return UINT32_MAX;
    table->elements = grown;
    table->count += count;
    for (uint32_t i = before; i < table->count; i++)
        grown[i] = value;
    return before;
}

enum wasm_trap wasm_table_fill(struct wasm_table *table, uint32_t to, uint64_t value,
                               uint32_t count)
{
    if (!table_has(table, to, count))
        return WASM_TRAP_TABLE;
    for (uint32_t i = 0; i < count; i++)
        table->elements[to + i] = value;
    return WASM_TRAP_NONE;
}

enum wasm_trap wasm_table_copy(struct wasm_table *to_table, struct wasm_table *from_table,
                               uint32_t to, uint32_t from, uint32_t count)
{
    if (!table_has(to_table, to, count) || !table_has(from_table, from, count))
        return WASM_TRAP_TABLE;
    if (count != 0)
        memmove(to_table->elements + to, from_table->elements + from,
                count * sizeof *to_table->elements);
    return WASM_TRAP_NONE;
}

enum wasm_trap wasm_table_init(struct wasm_instance *instance, uint32_t table, uint32_t segment,
                               uint32_t to, uint32_t from, uint32_t count)
{
    const struct wasm_element_segment *elements = &instance->module->elements[segment];
    const uint32_t length = instance->dropped_elements[segment] ? 0 : elements->count;

    if (!table_has(instance->tables[table], to, count) || from > length || count > length - from)
        return WASM_TRAP_TABLE;
    for (uint32_t i = 0; i < count; i++)
        instance->tables[table]->elements[to + i] =
            wasm_constant_value(instance, &elements->items[from + i]);
    return WASM_TRAP_NONE;
}

uint64_t wasm_reference(const struct wasm_instance *instance, uint32_t function)
{
    return ((uint64_t)instance->number + 1) << 32 | function;
}

uint64_t wasm_constant_value(const struct wasm_instance *instance,
                             const struct wasm_constant *constant)
{
    switch (constant->kind) {
    case WASM_CONSTANT_GLOBAL:
        return *instance->imported_globals[constant->value];
    case WASM_CONSTANT_FUNCTION:
        return wasm_reference(instance, (uint32_t)constant->value);
    case WASM_CONSTANT_VALUE:
        break;
    }
    return constant->value;
}
