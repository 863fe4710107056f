/* SPDX-License-Identifier: Apache-2.0 */

/*
 * In the metered worker: XS's slots stand at addresses of their own, the same on every machine. XS
 * hashes the addresses of objects that are keys of a Map or Set, and compares those of timers with
 * the ends of its heap: what this costs depends on them. The Makefile links with --wrap for both
 * functions.
 */
#ifdef __GASPIPE_METER__

#include <stdint.h>
#include <sys/mman.h>

#include <xsnap.h>

#include "worker/xs/engine_xs_memory.h"

void *__wrap_fxAllocateSlots(void *machine, int32_t count);
void *__real_fxAllocateSlots(void *machine, int32_t count);
void __wrap_fxFreeSlots(void *machine, void *slots);
void __real_fxFreeSlots(void *machine, void *slots);

/* Below all that Linux and QEMU place by themselves, on x86-64 and aarch64: memory of malloc() is
 * above it on every machine. */
static uintptr_t next = (uintptr_t)0x1000000000;

/* Of a page on either machine, at least. */
enum { PAGE = 65536 };

struct allocation {
    uintptr_t start;
    size_t size;
};

/* XS grows its slots some thousands of times at most, with its limit on memory. */
enum { ALLOCATIONS_MAX = 65536 };
static struct allocation allocations[ALLOCATIONS_MAX];
static size_t allocation_count;

void *__wrap_fxAllocateSlots(void *machine, int32_t count)
{
    const size_t size = ((size_t)count * sizeof(xsSlot) + PAGE - 1) / PAGE * PAGE;
    void *made;

    /* XS's own keeps count of the memory, and stops the engine at its limit. */
    made = __real_fxAllocateSlots(machine, count);
    if (made == NULL)
        engine_xs_memory_refuse(machine);
    if (allocation_count == ALLOCATIONS_MAX)
        return NULL;
    __real_fxFreeSlots(machine, made);
    made = mmap((void *)next, size, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (made != (void *)next) {
        /* A kernel that does not know the flag may put it elsewhere. */
        if (made != MAP_FAILED)
            (void)munmap(made, size);
        engine_xs_memory_refuse(machine);
    }
    allocations[allocation_count++] = (struct allocation){next, size};
    next += size + PAGE;
    return made;
}

void __wrap_fxFreeSlots(void *machine, void *slots)
{
    (void)machine;
    for (size_t i = 0; i < allocation_count; i++)
        if (allocations[i].start == (uintptr_t)slots) {
            (void)munmap(slots, allocations[i].size);
            allocations[i].start = 0;
        }
}

#endif
