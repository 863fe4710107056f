/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_WORKER_NATIVE_HEAP_H
#define GASPIPE_WORKER_NATIVE_HEAP_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/*
 * Memory of a native contract. It lies where it lies in every other process, so that an address
 * that a contract compares, hashes or shows is the same each time.
 */
#define NATIVE_IMAGE_PLACE ((uintptr_t)0x200000000000)
#define NATIVE_STACK_PLACE ((uintptr_t)0x210000000000)
#define NATIVE_HEAP_PLACE  ((uintptr_t)0x220000000000)

enum { NATIVE_PAGE = 4096 };

static inline size_t native_page_up(size_t size)
{
    return (size + NATIVE_PAGE - 1) & ~(size_t)(NATIVE_PAGE - 1);
}

/* Zeros that can be written to. NULL with ERROR_SYSTEM when there is no room just there. */
uint8_t *native_place_take(uintptr_t place, size_t size, struct error *error);

/* Whole pages of one become zeros again. */
void native_place_clear(uint8_t *start, size_t size);

/* NULL is none. */
void native_place_give_back(uint8_t *start, size_t size);

/*
 * The memory that a native contract takes with malloc(): the same blocks at the same places in
 * each call, whatever calls came before and whatever the worker itself takes.
 */

/* There is one heap. 0, or -1 with ERROR_SYSTEM. */
int native_heap_open(size_t size, struct error *error);
void native_heap_close(void);

/* Empty, and all zeros. */
void native_heap_reset(void);

/* Bytes that were taken since, with what stood between blocks. */
uint64_t native_heap_used(void);

/* As malloc(3), free(3), calloc(3), realloc(3), aligned_alloc(3). */
void *native_heap_take(size_t size);
void native_heap_free(void *block);
void *native_heap_take_zeros(size_t count, size_t size);
void *native_heap_resize(void *block, size_t size);
void *native_heap_take_aligned(size_t alignment, size_t size);

#endif
