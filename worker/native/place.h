/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_WORKER_NATIVE_PLACE_H
#define GASPIPE_WORKER_NATIVE_PLACE_H

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

#endif
