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

void wasm_memory_close(struct wasm_memory *memory)
{
    if (memory->bytes != NULL)
        (void)munmap(memory->bytes, memory->reserved); /* cannot fail for an existing mapping */
    *memory = (struct wasm_memory){0};
}

static bool resize(struct wasm_memory *memory, uint64_t size)
{
    const uint64_t wanted = mapped_for(size);
    void *bytes = memory->bytes;

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
