/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_WORKER_NATIVE_HEAP_H
#define GASPIPE_WORKER_NATIVE_HEAP_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* Memory of a native contract. Its addresses are the same in every process, so that an address
 * that a contract compares, hashes or shows is the same each time. */
#define NATIVE_IMAGE_PLACE ((uintptr_t)0x200000000000)
#define NATIVE_STACK_PLACE ((uintptr_t)0x210000000000)
#define NATIVE_HEAP_PLACE  ((uintptr_t)0x220000000000)

enum { NATIVE_PAGE = 4096 };

static inline size_t native_page_up(size_t size)
{
    return (size + NATIVE_PAGE - 1) & ~(size_t)(NATIVE_PAGE - 1);
}

/* Maps zeroed, writable memory. NULL with ERROR_SYSTEM if the place is not free. */
uint8_t *native_place_take(uintptr_t place, size_t size, struct error *error);

/* Zeroes the whole pages again. */
void native_place_clear(uint8_t *start, size_t size);

/* NULL does nothing. */
void native_place_give_back(uint8_t *start, size_t size);

/* A native contract's malloc(). Each call of the contract gets the same blocks at the same
 * addresses, whatever earlier calls or the worker allocated. */

/* Opens the one heap. Returns 0, or -1 with ERROR_SYSTEM. */
int native_heap_open(size_t size, struct error *error);
void native_heap_close(void);

/* Empties the heap, and zeroes it. */
void native_heap_reset(void);

/* Returns the bytes taken since then, with headers. */
uint64_t native_heap_used(void);

/* As malloc(3), free(3), calloc(3), realloc(3), aligned_alloc(3). */
void *native_heap_take(size_t size);
void native_heap_free(void *block);
void *native_heap_take_zeros(size_t count, size_t size);
void *native_heap_resize(void *block, size_t size);
void *native_heap_take_aligned(size_t alignment, size_t size);

#endif
