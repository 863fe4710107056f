/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>
#include <sys/mman.h>

#include "worker/wasm/run/machine.h"

/* mmap() refuses a length of 0, so at least a page is mapped. */
enum { LEAST_MAPPED = 4096 };

static uint64_t mapped_for(uint64_t size)
{
    return size != 0 ? size : LEAST_MAPPED;
}

/* Bytes past the new size are discarded and can no longer be accessed. */
static bool resize_in_place(struct wasm_memory *memory, uint64_t size)
{
    uint8_t *end = memory->bytes + memory->size;
    bool is_resized = true;

    if (size > memory->size)
        is_resized = mprotect(end, size - memory->size, PROT_READ | PROT_WRITE) == 0;
    else if (size < memory->size)
        is_resized = madvise(memory->bytes + size, memory->size - size, MADV_DONTNEED) == 0 &&
                     mprotect(memory->bytes + size, memory->size - size, PROT_NONE) == 0;
    if (is_resized)
        memory->size = size;
    return is_resized;
}

bool wasm_memory_open(struct wasm_memory *memory, uint32_t initial, uint32_t maximum)
{
    const uint64_t size = (uint64_t)initial * WASM_PAGE;

    *memory = (struct wasm_memory){.size = size, .initial = initial, .maximum = maximum};
    memory->reserved = mapped_for(size);
    memory->bytes = mmap(NULL, memory->reserved, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory->bytes != MAP_FAILED)
        return true;
    *memory = (struct wasm_memory){0};
    return false;
}

bool wasm_memory_open_at(struct wasm_memory *memory, uint8_t *place, uint32_t initial,
                         uint32_t maximum)
{
    *memory = (struct wasm_memory){
        .bytes = place, .initial = initial, .maximum = maximum, .is_placed = true};
    if (resize_in_place(memory, (uint64_t)initial * WASM_PAGE))
        return true;
    *memory = (struct wasm_memory){0};
    return false;
}

void wasm_memory_close(struct wasm_memory *memory)
{
    if (memory->is_placed)
        (void)resize_in_place(memory, 0); /* fails only if it cannot be given back */
    else if (memory->bytes != NULL)
        (void)munmap(memory->bytes, memory->reserved); /* cannot fail for an existing mapping */
    *memory = (struct wasm_memory){0};
}

static bool resize(struct wasm_memory *memory, uint64_t size)
{
    const uint64_t wanted = mapped_for(size);
    void *bytes = memory->bytes;

    if (memory->is_placed)
        return resize_in_place(memory, size);
    if (wanted != memory->reserved)
        bytes = mremap(memory->bytes, memory->reserved, wanted, MREMAP_MAYMOVE);
    if (bytes == MAP_FAILED)
        return false;
    memory->bytes = bytes;
    memory->reserved = wanted;
    memory->size = size;
    return true;
}

bool wasm_memory_reset(struct wasm_memory *memory)
{
    if (!resize(memory, (uint64_t)memory->initial * WASM_PAGE))
        return false;
    if (memory->is_placed)
        return memory->size == 0 || madvise(memory->bytes, memory->size, MADV_DONTNEED) == 0;
    return madvise(memory->bytes, memory->reserved, MADV_DONTNEED) == 0;
}

uint32_t wasm_memory_grow(struct wasm_memory *memory, uint32_t pages)
{
    const uint32_t before = wasm_memory_pages(memory);

    if (pages > memory->maximum - before)
        return UINT32_MAX;
    if (pages != 0 && !resize(memory, ((uint64_t)before + pages) * WASM_PAGE))
        return UINT32_MAX;
    return before;
}
