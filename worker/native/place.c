/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/native/place.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/log.h"

uint8_t *native_place_take(uintptr_t place, size_t size, struct error *error)
{
    /* Without MAP_FIXED: what is there already stays, and QEMU 7.2 knows no other way. */
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
    /* The next call would see what this one left. */
    log_line("a contract's memory cannot be cleared: %m");
    abort();
}

void native_place_give_back(uint8_t *start, size_t size)
{
    if (start != NULL)
        munmap(start, size);
}
