/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/xs/xs_memory.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <xsAll.h>

#include "base/sort/sort.h"

/*
 * The Makefile links the worker with --wrap for the functions below, so XS calls these. The
 * compiled-in meter does not count this file: compilers on different machines differ in
 * whether they call memset(). The meter charges such calls at the caller.
 */

static void *running; /* the machine whose command runs; NULL: no command */
static bool refused;

void xs_memory_is_for(void *machine)
{
    running = machine;
}

void xs_memory_refuse(void *machine)
{
    refused = true;
    fxAbort(machine, XS_NOT_ENOUGH_MEMORY_EXIT);
    abort(); /* not reached: it jumps */
}

bool xs_memory_was_refused(void)
{
    return refused;
}

/* Not inlined, so that a successful allocation costs nothing extra. */
__attribute__((noinline)) static void check_refusal(size_t size)
{
    /* Sizes above PTRDIFF_MAX fail in the same way everywhere. */
    if (size > 0 && size <= PTRDIFF_MAX && running != NULL)
        xs_memory_refuse(running);
}

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
        check_refusal(size);
    return memory;
}

void *__wrap_calloc(size_t count, size_t size)
{
    void *memory = __real_calloc(count, size);
    size_t bytes;

    if (memory == NULL && !__builtin_mul_overflow(count, size, &bytes))
        check_refusal(bytes);
    return memory;
}

void *__wrap_realloc(void *memory, size_t size)
{
    void *larger = __real_realloc(memory, size);

    if (larger == NULL)
        check_refusal(size);
    return larger;
}

/* Replaces glibc's qsort(), whose algorithm depends on free memory. */
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

/* ---- slots ---- */

/* On x86-64, and on aarch64 with 4 KiB pages. */
enum { HUGE_PAGE = 2 << 20 };

void xs_memory_use_huge_pages(void *bytes, size_t size)
{
    uintptr_t page, start, end;

    if (bytes == NULL || size < HUGE_PAGE)
        return;
    page = (uintptr_t)sysconf(_SC_PAGESIZE);
    /* Include the first page's other data, which is harmless; the memory ends at a page. */
    start = (uintptr_t)bytes / page * page;
    end = ((uintptr_t)bytes + size) / page * page;
    (void)madvise((void *)start, end - start, MADV_HUGEPAGE); /* on failure small pages remain */
}

void *__wrap_fxAllocateSlots(void *machine, int32_t count);
void *__real_fxAllocateSlots(void *machine, int32_t count);

#ifndef __GASPIPE_METER__

void *__wrap_fxAllocateSlots(void *machine, int32_t count)
{
    void *slots = __real_fxAllocateSlots(machine, count);

    if (slots == NULL)
        xs_memory_refuse(machine);
    xs_memory_use_huge_pages(slots, (size_t)count * sizeof(txSlot));
    return slots;
}

#else

/*
 * XS hashes the addresses of objects that are keys of a Map or Set, and compares timers'
 * addresses with the ends of its heap. Block cost must not depend on addresses that malloc()
 * chooses. So the metered worker maps slots at fixed addresses, below everything that Linux
 * and QEMU place, on x86-64 and aarch64.
 */
static uintptr_t next_slots = (uintptr_t)0x1000000000;

enum {
    PAGE = 65536, /* at least a page of either machine */
    /* XS's memory limit is reached after some thousands of allocations of slots. */
    ALLOCATIONS_MAX = 65536,
};

static struct slot_allocation {
    uintptr_t start;
    size_t size;
} allocations[ALLOCATIONS_MAX];
static size_t allocation_count;

void __wrap_fxFreeSlots(void *machine, void *slots);
void __real_fxFreeSlots(void *machine, void *slots);

void *__wrap_fxAllocateSlots(void *machine, int32_t count)
{
    const size_t size = ((size_t)count * sizeof(txSlot) + PAGE - 1) / PAGE * PAGE;
    void *made;

    /* XS's own function counts the memory, and stops the engine at its limit. */
    made = __real_fxAllocateSlots(machine, count);
    if (made == NULL)
        xs_memory_refuse(machine);
    if (allocation_count == ALLOCATIONS_MAX)
        return NULL;
    __real_fxFreeSlots(machine, made);
    made = mmap((void *)next_slots, size, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (made != (void *)next_slots) {
        /* A Linux without the flag may map elsewhere. */
        if (made != MAP_FAILED)
            (void)munmap(made, size);
        xs_memory_refuse(machine);
    }
    allocations[allocation_count++] = (struct slot_allocation){next_slots, size};
    next_slots += size + PAGE;
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

/*
 * XS's patched string functions ask at each position if the string is ASCII
 * (worker/xs/patches/string-offsets.patch). The header of the string's chunk caches the
 * answer. Snapshots drop it, so a restored worker scans again; no block cost depends on
 * that, because this file is not metered.
 */
enum { NOT_ASCII = -1 }; /* else 0: unknown, or its length + 1 */

static int scan_ascii(const char *string)
{
    const uint64_t high_bits = 0x8080808080808080;
    const size_t length = strlen(string);
    uint64_t seen = 0, word;
    size_t at = 0;

    for (; at + sizeof word <= length; at += sizeof word) {
        memcpy(&word, string + at, sizeof word);
        seen |= word;
    }
    for (; at < length; at++)
        seen |= (unsigned char)string[at];
    return (seen & high_bits) != 0 ? NOT_ASCII : (int)length + 1;
}

/* Returns the length of a string in a chunk, or -1 if it is not ASCII. */
int xs_ascii_length(char *string)
{
    txChunk *chunk = (txChunk *)(string - sizeof *chunk);

    if (chunk->dummy == 0)
        chunk->dummy = scan_ascii(string);
    return chunk->dummy == NOT_ASCII ? -1 : chunk->dummy - 1;
}
