/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_WORKER_WASM_RUN_BULK_H
#define GASPIPE_WORKER_WASM_RUN_BULK_H

#include "worker/wasm/run/machine.h"

/*
 * The instructions on many bytes or elements, and those on tables. What lies outside is found
 * before anything is written.
 */
enum wasm_trap wasm_memory_copy(struct wasm_memory *memory, uint32_t to, uint32_t from,
                                uint32_t count);
enum wasm_trap wasm_memory_fill(struct wasm_memory *memory, uint32_t to, uint32_t byte,
                                uint32_t count);
enum wasm_trap wasm_memory_init(struct wasm_instance *instance, uint32_t segment, uint32_t to,
                                uint32_t from, uint32_t count);

/* The size before, or UINT32_MAX when it cannot grow so. */
uint32_t wasm_table_grow(struct wasm_table *table, uint64_t value, uint32_t count);
enum wasm_trap wasm_table_fill(struct wasm_table *table, uint32_t to, uint64_t value,
                               uint32_t count);
enum wasm_trap wasm_table_copy(struct wasm_table *to_table, struct wasm_table *from_table,
                               uint32_t to, uint32_t from, uint32_t count);
enum wasm_trap wasm_table_init(struct wasm_instance *instance, uint32_t table, uint32_t segment,
                               uint32_t to, uint32_t from, uint32_t count);

/* The value of a constant expression. */
uint64_t wasm_constant_value(const struct wasm_instance *instance,
                             const struct wasm_constant *constant);

/* The reference to a function. */
uint64_t wasm_reference(const struct wasm_instance *instance, uint32_t function);

#endif
