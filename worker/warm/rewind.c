/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/warm/rewind.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "counter/gasmark.h"

#ifdef __x86_64__

/*
 * Not on the stack, which is another one when they are read for the last time. What is done behind
 * the return leaves traces. So it is not longjmp(3) that jumps: the dynamic linker would look it up
 * there, and the first exception of a contract would cost less than in a worker that is executed.
 */
static void *place[5];
static uintptr_t heap_end;
static volatile bool has_run;

/* What glibc's sbrk() knows is memory, too: the kernel is asked. */
static uintptr_t heap_end_now(void)
{
    return (uintptr_t)syscall(SYS_brk, 0);
}

/* From the moment when `has_run` is false again, everything is as it was at `place`. */
static _Noreturn void go_back(void)
{
    if ((uintptr_t)syscall(SYS_brk, heap_end) != heap_end)
        _exit(EXIT_FAILURE);
    for (;;) {
        struct gasmark_left left = {0};

        gasmark_call(GASMARK_RESTORE, &left, sizeof left);
        if (!has_run)
            __builtin_longjmp(place, 1);
        if (left.size == 0 || munmap((void *)(uintptr_t)left.start, left.size) != 0)
            _exit(EXIT_FAILURE);
    }
}

/*
 * What the heap has grown by once QEMU keeps, and fills with zeros when the heap grows again:
 * memory of each worker, whether it is used or not. So the heap finds something in its way, and
 * malloc(3) maps what it needs; go_back() unmaps both.
 */
static void block_heap(void)
{
    const uintptr_t page = 4096;
    static void *wall;

    wall = mmap((void *)((heap_end + page - 1) & ~(page - 1)), page, PROT_NONE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    (void)wall;
}

bool rewind_around(void (*run)(void *context), void *context)
{
    heap_end = heap_end_now();
    if (__builtin_setjmp(place) != 0)
        return true;
    if (gasmark_keep() != 0)
        return false;
    has_run = true;
    block_heap();
    run(context);
    go_back();
}

#else /* which has no counter, and clang no jump */

bool rewind_around(void (*run)(void *context), void *context)
{
    (void)run;
    (void)context;
    return false;
}

#endif
