/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_WORKER_WASM_RUN_MEMORY_H
#define GASPIPE_WORKER_WASM_RUN_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

enum { WASM_PAGE = 65536 };

/* A linear memory. Its bytes may move when it grows. */
struct wasm_memory {
    uint8_t *bytes; /* size of them can be used */
    uint64_t size;
    uint64_t reserved; /* bytes that are mapped */
    uint32_t initial;  /* pages */
    uint32_t maximum;  /* pages, at most 65536 */
    bool has_maximum;  /* in its type */
};

/* False when the host has no memory for it. It is of zeros. */
bool wasm_memory_open(struct wasm_memory *memory, uint32_t initial, uint32_t maximum);
void wasm_memory_close(struct wasm_memory *memory);

/* As wasm_memory_open() left it. */
bool wasm_memory_reset(struct wasm_memory *memory);

/* The size before in pages, or UINT32_MAX when it cannot grow by so many. */
uint32_t wasm_memory_grow(struct wasm_memory *memory, uint32_t pages);

static inline uint32_t wasm_memory_pages(const struct wasm_memory *memory)
{
    return (uint32_t)(memory->size / WASM_PAGE);
}

/* Whether `length` bytes from there lie inside. */
static inline bool wasm_memory_has(const struct wasm_memory *memory, uint64_t from, uint64_t length)
{
    return from <= memory->size && length <= memory->size - from;
}

#endif
