/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/native/heap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/log.h"

/* ---- places in memory ---- */

uint8_t *native_place_take(uintptr_t place, size_t size, struct error *error)
{
    /* No MAP_FIXED, so an existing mapping stays; QEMU 7.2 has no other flag for this. */
    void *start = mmap((void *)place, size, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (start == MAP_FAILED) {
        error_system(error, errno, "no memory for a contract");
        return NULL;
    }
    if (start == (void *)place)
        return start;
    munmap(start, size);
    error_set(error, ERROR_SYSTEM, "the place of a contract in memory is taken");
    return NULL;
}

void native_place_clear(uint8_t *start, size_t size)
{
    if (size == 0 || madvise(start, size, MADV_DONTNEED) == 0)
        return;
    /* Otherwise the next call would see this call's data. */
    log_line("a contract's memory cannot be cleared: %m");
    abort();
}

void native_place_give_back(uint8_t *start, size_t size)
{
    if (start != NULL)
        munmap(start, size);
}

/* ---- the heap ---- */

/* Block sizes are powers of two; a free block is reused by the next request of its size. A
 * header in front of each block says which power, in as many bytes as the alignment needs. */
enum { HEAD = 16, LEAST_POWER = 5, POWERS = 48 };

struct head {
    uint64_t power;
    struct head *next; /* the next free block */
};

_Static_assert(sizeof(struct head) == HEAD, "a block is aligned to 16");

static uint8_t *start;
static size_t total, used;
static struct head *vacant[POWERS];

int native_heap_open(size_t size, struct error *error)
{
    total = native_page_up(size);
    start = native_place_take(NATIVE_HEAP_PLACE, total, error);
    used = 0;
    return start != NULL ? 0 : -1;
}

void native_heap_close(void)
{
    native_place_give_back(start, total);
    start = NULL;
    total = 0;
}

void native_heap_reset(void)
{
    native_place_clear(start, total);
    used = 0;
    memset(vacant, 0, sizeof vacant);
}

uint64_t native_heap_used(void)
{
    return used;
}

static unsigned power_for(size_t size)
{
    const size_t least = (size_t)1 << LEAST_POWER;

    return size + HEAD <= least ? LEAST_POWER : 64 - (unsigned)__builtin_clzll(size + HEAD - 1);
}

static struct head *take_new(unsigned power)
{
    struct head *head = (struct head *)(start + used);

    if (((size_t)1 << power) > total - used)
        return NULL;
    used += (size_t)1 << power;
    head->power = power;
    return head;
}

void *native_heap_take(size_t size)
{
    struct head *head = NULL;
    unsigned power;

    if (size < total) {
        power = power_for(size);
        head = vacant[power];
        if (head != NULL)
            vacant[power] = head->next;
        else
            head = take_new(power);
    }
    if (head == NULL)
        errno = ENOMEM;
    return head != NULL ? head + 1 : NULL;
}

void native_heap_free(void *block)
{
    struct head *head;

    if (block == NULL)
        return;
    head = (struct head *)block - 1;
    /* Blocks of native_heap_take_aligned() are never reused. */
    if (head->power >= POWERS)
        return;
    head->next = vacant[head->power];
    vacant[head->power] = head;
}

void *native_heap_take_zeros(size_t count, size_t size)
{
    size_t bytes;
    void *block = __builtin_mul_overflow(count, size, &bytes) ? NULL : native_heap_take(bytes);

    if (block != NULL)
        memset(block, 0, bytes);
    return block;
}

void *native_heap_resize(void *block, size_t size)
{
    const struct head *head;
    size_t capacity;
    void *larger;

    if (block == NULL)
        return native_heap_take(size);
    head = (struct head *)block - 1;
    capacity = head->power < POWERS ? ((size_t)1 << head->power) - HEAD : head->power - POWERS;
    if (size <= capacity)
        return block;
    larger = native_heap_take(size);
    if (larger != NULL) {
        memcpy(larger, block, capacity);
        native_heap_free(block);
    }
    return larger;
}

void *native_heap_take_aligned(size_t alignment, size_t size)
{
    uint8_t *block;
    struct head *head;

    if (alignment <= HEAD)
        return native_heap_take(size);
    if (alignment > NATIVE_PAGE || (alignment & (alignment - 1)) != 0 || size >= total)
        return NULL;
    block = native_heap_take(size + alignment);
    if (block == NULL)
        return NULL;
    block += alignment - ((uintptr_t)block & (alignment - 1));
    head = (struct head *)block - 1;
    head->power = POWERS + size; /* not a power: the usable size */
    return block;
}
