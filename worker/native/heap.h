/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_WORKER_NATIVE_HEAP_H
#define GASPIPE_WORKER_NATIVE_HEAP_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

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
