/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <xsnap.h>

#include "base/sort/sort.h"
#include "worker/xs/engine_xs_memory.h"
#include "worker/xs/engine_xs_pages.h"

/*
 * What stands in place of the functions with which XS allocates memory: a refusal ends its command
 * (engine_xs_memory.h). The Makefile links the worker with --wrap for each.
 */

void *__wrap_malloc(size_t size);
void *__real_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__real_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);
void *__real_realloc(void *memory, size_t size);

void *__wrap_malloc(size_t size)
{
    void *memory = __real_malloc(size);

    if (memory == NULL)
        engine_xs_memory_check(size);
    return memory;
}

void *__wrap_calloc(size_t count, size_t size)
{
    void *memory = __real_calloc(count, size);
    size_t bytes;

    if (memory == NULL && !__builtin_mul_overflow(count, size, &bytes))
        engine_xs_memory_check(bytes);
    return memory;
}

void *__wrap_realloc(void *memory, size_t size)
{
    void *larger = __real_realloc(memory, size);

    if (larger == NULL)
        engine_xs_memory_check(size);
    return larger;
}

void __wrap_qsort(void *items, size_t count, size_t size, sort_compare *compare);

void __wrap_qsort(void *items, size_t count, size_t size, sort_compare *compare)
{
    char small[1024];                  /* most sorts are of a module's few exports */
    const size_t bytes = count * size; /* no overflow: the items are in memory */
    void *scratch = bytes <= sizeof small ? small : malloc(bytes);

    if (scratch == NULL)
        abort(); /* not reached: XS sorts in commands, which the refusal has ended */
    sort_stable(items, count, size, compare, scratch);
    if (scratch != small)
        free(scratch);
}

/* The metered worker has its own (engine_xs_slots.c). */
#ifndef __GASPIPE_METER__

void *__wrap_fxAllocateSlots(void *machine, int32_t count);
void *__real_fxAllocateSlots(void *machine, int32_t count);

void *__wrap_fxAllocateSlots(void *machine, int32_t count)
{
    void *slots = __real_fxAllocateSlots(machine, count);

    if (slots == NULL)
        engine_xs_memory_refuse(machine);
    engine_xs_pages_be_huge(slots, (size_t)count * sizeof(xsSlot));
    return slots;
}

#endif
