/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>

#include "worker/xs/xs_memory.h"

/*
 * XS zeroes chunks that the system has just provided as zeros: 32 MiB at a worker's start,
 * of which a vat uses five. That would take two thirds of the start. XS's next call after
 * allocating chunks is this memset(), which therefore skips them. Sanitized workers are
 * linked without this file, because sanitizers have their own memset().
 */

void *__wrap_fxAllocateChunks(void *machine, int32_t size);
void *__real_fxAllocateChunks(void *machine, int32_t size);
void *__wrap_memset(void *bytes, int value, size_t size);
void *__real_memset(void *bytes, int value, size_t size);

/* The chunks just allocated, which were never written to; NULL: none. */
static void *fresh_chunks;

void *__wrap_fxAllocateChunks(void *machine, int32_t size)
{
    errno = 0; /* it stays so if the chunks are more than XS ever takes, by its own rule */
    fresh_chunks = __real_fxAllocateChunks(machine, size);
    if (fresh_chunks == NULL && errno != 0)
        xs_memory_refuse(machine);
    return fresh_chunks;
}

void *__wrap_memset(void *bytes, int value, size_t size)
{
    if (bytes != fresh_chunks)
        return __real_memset(bytes, value, size);
    fresh_chunks = NULL;
    return bytes;
}
